import { toChatMessages } from '../../core/message-input.ts'
import { areChecked, withoutUndefined } from '../../core/messages.ts'
import {
  abortedError,
  type ChatModel,
  type ModelCapabilities,
  type ModelRequest,
  type ModelResponse,
  type ModelSink,
} from '../chat-model.ts'
import { type ErrorContext, responseError } from '../errors/provider-error.ts'
import { findAPIKey, findBaseURL, type ProviderPreset } from '../presets.ts'
import type { APIKey, ModelSettings } from '../settings.ts'
import type { ResponseReader } from '../streaming/response-body.ts'
import { overflowIn } from '../usage.ts'
import { HttpExchange, secretsIn } from './http-exchange.ts'
import { type Send, send, sendOver } from './send.ts'

/**
 * Defaults for the maximum time without data, in milliseconds. `defaultWholeMs` applies to requests without streaming, because the server
 * then sends nothing until the response is complete.
 */
const defaultIdleMs = 60_000
const defaultWholeMs = 600_000
/** Default for the maximum time without an event, in milliseconds. */
const defaultStallMs = 600_000
/** Maximum number of times that a paused response is continued. */
const maxPauses = 16

export interface Access {
  apiKey: APIKey
  baseURL: string
}

/** How a driver uses its SDK. */
export interface SdkUse<Own extends Access, Sdk> {
  /** Returns the current access from settings and environment. Throws `missing_api_key`, or `invalid_option` for an invalid address. */
  findAccess(): Own
  /** Imports the SDK, which is not loaded before the first request, and creates its client. */
  open(access: Own): Promise<Sdk>
  /** Makes the SDK send the request, with `exchange.fetch` as its `fetch`. */
  ask(sdk: Sdk, request: ApiRequest, exchange: HttpExchange): Promise<unknown>
  /** Warnings about the access, which are added to the response. Default: none. */
  warnings?(access: Own): readonly string[]
}

/** The parameters of a request, as the SDK's method expects them. */
type RequestParams = object

/** A request to a provider, with warnings about details that were lost in the conversion. */
export interface ApiRequest {
  params: RequestParams
  /** Whether the driver requests a stream, which it may do even if the caller did not. */
  stream: boolean
  /** The names of the tools that the request offers. These are the tools' own names, which may differ from the names that are sent. */
  toolNames: ReadonlySet<string>
  warnings: readonly string[]
}

/** Builds the requests to a provider's API, and reads its responses. */
export interface Api<Own extends Access, Body extends ApiRequest = ApiRequest, Response extends ApiResponse = ApiResponse> {
  /** `paused`: the response that the request continues. */
  build(request: ModelRequest, access: Own, paused?: Response): Body
  /** Creates the reader for the response to a request and for its continuations. */
  open(context: ErrorContext, sink: ModelSink | undefined, request: Body): Response
}

export interface ApiResponse extends ResponseReader {
  /**
   * Whether the provider has stopped in the middle of the response, and another request continues it. Absent if the provider never does
   * this.
   */
  readonly isPaused?: boolean
  /** Returns the complete response. Called once, when `hasFinished` is true. */
  finish(): ModelResponse
}

/** The current key and base URL, and the SDK's client that uses them. */
interface Opened<Own extends Access, Sdk> {
  access: Own
  sdk: Sdk | undefined
}

/**
 * Sends requests to a provider through its SDK, which uses the `fetch` of an `HttpExchange`. The SDK's client is recreated if the key or
 * the base URL in the environment has changed.
 */
export class SdkClient<Own extends Access, Sdk> {
  readonly #settings: ModelSettings
  readonly #use: SdkUse<Own, Sdk>
  readonly #send: Send
  readonly #isFixed: boolean
  #opened: Opened<Own, Sdk> | undefined

  constructor(settings: ModelSettings, preset: ProviderPreset, use: SdkUse<Own, Sdk>) {
    this.#settings = settings
    this.#use = use
    const { apiKey, baseURL } = settings
    const hasKey = typeof apiKey === 'function' || Boolean(apiKey?.trim())
    // If the key and the base URL are both set, the access does not depend on the environment.
    this.#isFixed = hasKey && (Boolean(baseURL?.trim()) || preset.baseURLEnv === undefined)
    this.#send = settings.fetch === undefined ? send : sendOver(settings.fetch)
  }

  /** Creates a model that uses one of the provider's APIs. */
  model<Body extends ApiRequest, Response extends ApiResponse>(api: Api<Own, Body, Response>, capabilities: ModelCapabilities): ChatModel {
    const { provider, model } = this.#settings
    return {
      provider,
      model,
      capabilities,
      prepare: () => this.#prepare(),
      generate: (request, sink) => this.#generate(api, capabilities, request, sink),
    }
  }

  /** Returns the response. Throws `context_overflow` if the conversation was too long and the provider did not report this. */
  #refuseOverflow(response: ModelResponse, request: ModelRequest, { contextWindow }: ModelCapabilities): ModelResponse {
    const { provider, model, providerOptions } = this.#settings
    // A provider that uses its own tools or compaction reads the conversation several times and reports the sum. Its usage then does not
    // show whether the conversation was too long.
    if (contextWindow === undefined || (request.providerOptions ?? providerOptions) !== undefined) return response
    const got = overflowIn(response, contextWindow)
    if (got === undefined) return response
    const { text, reasoning, usage } = response
    const partial = { text, ...withoutUndefined({ reasoning, usage }) }
    throw responseError('context_overflow', 'a response to the whole conversation', got, { provider, model, partial }, { retryable: false })
  }

  /** Loads the SDK. Rejects with the errors of `findAccess`, or if the package is not installed. */
  async #prepare(): Promise<void> {
    const opened = this.#open()
    opened.sdk ??= await this.#use.open(opened.access)
  }

  async #generate<Body extends ApiRequest, Response extends ApiResponse>(
    api: Api<Own, Body, Response>,
    capabilities: ModelCapabilities,
    given: ModelRequest,
    sink: ModelSink | undefined,
  ): Promise<ModelResponse> {
    const { signal } = given
    if (signal?.aborted) throw abortedError(this.#settings.provider, signal.reason)
    const opened = this.#open()
    const { access } = opened
    const { provider, model, headers, streamIdleTimeoutMs, streamStallTimeoutMs } = this.#settings
    const key = typeof access.apiKey === 'string' ? access.apiKey : ''
    const secrets = secretsIn(Object.entries({ ...headers, key }))
    const request = areChecked(given.messages) ? given : { ...given, messages: toChatMessages(given.messages) }
    let body = api.build(request, access)
    const response = api.open({ provider, model, secrets }, sink, body)
    const warnings = new Set(this.#use.warnings?.(access))
    const idleMs = request.streamIdleTimeoutMs ?? streamIdleTimeoutMs ?? (body.stream ? defaultIdleMs : defaultWholeMs)
    const stallMs = request.streamStallTimeoutMs ?? streamStallTimeoutMs ?? defaultStallMs
    // Loads the SDK before the exchange starts, because loading a package must not count as time without data.
    opened.sdk ??= await this.#use.open(access)
    const { sdk } = opened
    for (let pauses = 0; ; pauses++) {
      const exchange = new HttpExchange({ reader: response, provider, signal, idleMs, stallMs, send: this.#send, secrets })
      const oddities = await exchange.run(() => this.#use.ask(sdk, body, exchange))
      for (const warning of [...body.warnings, ...oddities]) warnings.add(warning)
      if (response.isPaused !== true) break
      if (pauses === maxPauses) {
        warnings.add(`The response was paused again after being continued ${maxPauses} times, and was left unfinished`)
        break
      }
      body = api.build(request, access, response)
    }
    return this.#refuseOverflow(withWarnings(response.finish(), warnings), request, capabilities)
  }

  /** Returns the current access and client. Returns the same object as long as the access is unchanged. */
  #open(): Opened<Own, Sdk> {
    if (this.#opened !== undefined && this.#isFixed) return this.#opened
    const access = this.#use.findAccess()
    if (this.#opened === undefined || !isSame(this.#opened.access, access)) this.#opened = { access, sdk: undefined }
    return this.#opened
  }
}

/** Returns the API key and the base URL. Throws `missing_api_key`, or `invalid_option` for an invalid address. */
export function findAccess(settings: ModelSettings, preset: ProviderPreset): Access {
  return { apiKey: findAPIKey(settings, preset), baseURL: findBaseURL(settings, preset) }
}

function isSame<Own extends Access>(a: Own, b: Own): boolean {
  for (const key in a) if (a[key] !== b[key]) return false
  return true
}

function withWarnings(response: ModelResponse, before: Iterable<string>): ModelResponse {
  const warnings = [...before, ...(response.warnings ?? [])]
  return warnings.length === 0 ? response : { ...response, warnings }
}

/** Options that the SDKs of OpenAI and Anthropic pass on to their `fetch`. */
interface ExchangeInit extends RequestInit {
  carrier?: HttpExchange['carrier']
}

/** The longest timeout that Node's timers support, in milliseconds. */
const longestTimeout = 2 ** 31 - 1

/** Returns options that turn off the SDK's timeouts and retries, and pass on the exchange. */
export function requestOptions(exchange: HttpExchange): { timeout: number; maxRetries: number; fetchOptions: object } {
  const fetchOptions: ExchangeInit = { carrier: exchange.carrier }
  return { timeout: longestTimeout, maxRetries: 0, fetchOptions }
}

/** The `fetch` for an SDK's client. Finds the exchange in the request's options, and sends the request with it. */
export function exchangeFetch(url: string | URL | Request, { carrier, ...init }: ExchangeInit = {}): Promise<Response> {
  const exchange = carrier?.exchange
  if (exchange === undefined)
    throw new TypeError('Expected the SDK to pass on `fetchOptions`, and to send nothing once the exchange is over')
  return exchange.fetch(url, init)
}

/** Calls `make` while an environment variable is unset. Used for a variable with headers, which an SDK would send to every server. */
export function withoutVariable<T>(name: string, make: () => T): T {
  const value = process.env[name]
  delete process.env[name]
  try {
    return make()
  } finally {
    if (value !== undefined) process.env[name] = value
  }
}

/** Calls `call`, and passes its warnings to `warn` instead of printing them. */
export function quietly<T>(call: () => T, warn?: (warning: string) => void): T {
  const { debug, warn: print } = console
  Object.assign(console, { debug() {}, warn: (...parts: unknown[]) => warn?.(parts.join(' ')) })
  try {
    return call()
  } finally {
    Object.assign(console, { debug, warn: print })
  }
}
