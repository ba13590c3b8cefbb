import { toChatMessages } from '../../core/message-input.ts'
import { wellFormed } from '../../core/messages.ts'
import {
  abortedError,
  type ChatModel,
  type ModelCapabilities,
  type ModelRequest,
  type ModelResponse,
  type ModelSink,
} from '../chat-model.ts'
import { findAPIKey, findBaseURL, type ProviderPreset } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import type { ResponseReader } from '../streaming/response-body.ts'
import { overflowIn } from '../usage.ts'
import { HttpExchange } from './http-exchange.ts'
import { sendOver } from './own-fetch.ts'
import { type ErrorContext, requestError, responseError } from './provider-error.ts'
import { type Address, send } from './send.ts'

/** Longest silence by default, in milliseconds. A whole response is silent until it is written. */
const defaultIdleMs = 60_000
const defaultWholeMs = 600_000
/** How often a response that the provider has paused is continued. */
const maxPauses = 16

/** API key and base URL. */
export interface Access {
  apiKey: string
  baseURL: string
}

/** How a driver uses its SDK. */
export interface SdkUse<Own extends Access, Sdk> {
  /** The access as settings and environment have it now. Throws `missing_api_key`, or `invalid_option` for an invalid address. */
  findAccess(): Own
  /** Imports the SDK, so that nothing is loaded before the first request, and makes its client. */
  open(access: Own): Promise<Sdk>
  /** Has the SDK make a request over `fetch`, which sends nothing. */
  ask(sdk: Sdk, fetch: typeof globalThis.fetch, request: { params: RequestParams; stream: boolean }): Promise<unknown>
  /** Whether the SDK has credentials of its own for it, which expire. Default: it has none. */
  expires?(access: Own): boolean
  /** What a response should say of the access. Default: nothing. */
  warnings?(access: Own): readonly string[]
  /** The error for what `ask` rejects with. Default: `invalid_option`. */
  toError?(error: unknown, context: ErrorContext): Error
}

/** The parameters of a request, as the SDK's method takes them. */
export type RequestParams = object

/** A request to a provider, and what was lost on the way to it. */
export interface ApiRequest {
  params: RequestParams
  /** The tools it offers, by their own names. */
  toolNames: ReadonlySet<string>
  warnings: readonly string[]
}

/** A provider's API: what it is sent, and what reads the answer. */
export interface Api<Own extends Access, Body extends ApiRequest = ApiRequest, Response extends ApiResponse = ApiResponse> {
  /** `paused`: the response that the request continues. */
  build(request: ModelRequest, access: Own, paused?: Response): Body
  /** Reads the response to a request, and those that continue it. */
  open(context: ErrorContext, sink: ModelSink | undefined, request: Body): Response
}

export interface ApiResponse extends ResponseReader {
  /** The provider has stopped in the midst of it, and goes on when it is asked again. Absent: it never does. */
  readonly isPaused?: boolean
  /** The response, whole. To be called once, when `hasFinished`. */
  finish(): ModelResponse
}

/** An access, and what is worked out from it once. */
interface Opened<Own extends Access, Sdk> {
  access: Own
  /** The access as a text, by which another one shows. */
  key: string
  context: ErrorContext
  sdk: Sdk | undefined
  /** By whether a stream is asked for. */
  addresses: Map<boolean, Address>
}

/**
 * A provider as its SDK knows it. The SDK makes the first request, which tells address and headers; all later ones differ from it in their
 * bodies alone. Asked anew when key or address have changed, so that either may come or be replaced later through the environment.
 */
export class SdkClient<Own extends Access, Sdk> {
  readonly #settings: ModelSettings
  readonly #use: SdkUse<Own, Sdk>
  readonly #isFixed: boolean
  #opened: Opened<Own, Sdk> | undefined

  constructor(settings: ModelSettings, preset: ProviderPreset, use: SdkUse<Own, Sdk>) {
    this.#settings = settings
    this.#use = use
    // Then nothing of it is the environment's.
    this.#isFixed = Boolean(settings.apiKey?.trim() && (settings.baseURL?.trim() || preset.baseURLEnv === undefined))
  }

  /** The model behind an API of that provider. */
  model<Body extends ApiRequest, Response extends ApiResponse>(api: Api<Own, Body, Response>, capabilities: ModelCapabilities): ChatModel {
    const { provider, model } = this.#settings
    return {
      provider,
      model,
      capabilities,
      prepare: () => this.#prepare(),
      generate: async (request, sink) => this.#refuseOverflow(await this.#generate(api, request, sink), request, capabilities),
    }
  }

  /** The response, or `context_overflow` where its conversation was too long and the provider did not say so. */
  #refuseOverflow(response: ModelResponse, request: ModelRequest, { contextWindow }: ModelCapabilities): ModelResponse {
    const { provider, model, providerOptions } = this.#settings
    // With tools or compaction of its own, a provider reads the conversation several times and reports the sum.
    if (contextWindow === undefined || (request.providerOptions ?? providerOptions) !== undefined) return response
    const got = overflowIn(response, contextWindow)
    if (got === undefined) return response
    const { text, reasoning, usage } = response
    const partial = { text, ...(reasoning === undefined ? {} : { reasoning }), ...(usage === undefined ? {} : { usage }) }
    throw responseError('context_overflow', 'a response to the whole conversation', got, { provider, model, partial }, { retryable: false })
  }

  /** Loads the SDK. Rejects with what `findAccess` throws, and for a package that is not installed. */
  async #prepare(): Promise<void> {
    const opened = this.#open()
    opened.sdk ??= await this.#use.open(opened.access)
  }

  async #generate<Body extends ApiRequest, Response extends ApiResponse>(
    api: Api<Own, Body, Response>,
    given: ModelRequest,
    sink: ModelSink | undefined,
  ): Promise<ModelResponse> {
    const { signal } = given
    if (signal?.aborted) throw abortedError(this.#settings.provider, signal.reason)
    const opened = this.#open()
    const { access, context } = opened
    const request = { ...given, messages: toChatMessages(given.messages) }
    const build = (paused?: Response): Body => {
      const built = api.build(request, access, paused)
      // Messages are so already; tools, schemas and `providerOptions` need not be.
      return { ...built, params: wellFormed(built.params) }
    }
    let body = build()
    const response = api.open(context, sink, body)
    const warnings = new Set(this.#use.warnings?.(access))
    for (let pauses = 0; ; pauses++) {
      const oddities = await this.#send(opened, body.params, response, request)
      for (const warning of [...body.warnings, ...oddities]) warnings.add(warning)
      if (response.isPaused !== true) break
      if (pauses === maxPauses) {
        warnings.add(`The response was paused again after being continued ${maxPauses} times, and was left unfinished`)
        break
      }
      body = build(response)
    }
    return withWarnings(response.finish(), warnings)
  }

  /** Sends `params`; the response is fed to `reader`. Resolves with warnings; rejects with a `ModelError`. */
  async #send(opened: Opened<Own, Sdk>, params: RequestParams, reader: ResponseReader, request: ModelRequest): Promise<string[]> {
    const { provider, fetch, streamIdleTimeoutMs } = this.#settings
    const { signal } = request
    const stream = request.stream !== false
    const idleMs = request.streamIdleTimeoutMs ?? streamIdleTimeoutMs ?? (stream ? defaultIdleMs : defaultWholeMs)
    // Before the exchange: the time a package takes to load is no silence of the provider's.
    opened.sdk ??= await this.#use.open(opened.access)
    const exchange = new HttpExchange({ reader, provider, signal, idleMs, send: fetch === undefined ? send : sendOver(fetch) })
    return exchange.run(this.#knownAddress(opened, stream) ?? this.#findAddress(opened, opened.sdk, stream, params), JSON.stringify(params))
  }

  /** The same object as long as nothing has changed in its access. */
  #open(): Opened<Own, Sdk> {
    if (this.#opened !== undefined && this.#isFixed) return this.#opened
    const access = this.#use.findAccess()
    const key = JSON.stringify(access)
    if (this.#opened?.key !== key) {
      const { provider, model, headers } = this.#settings
      const context = { provider, model, secrets: secretsOf(access.apiKey, headers) }
      this.#opened = { access, key, context, sdk: undefined, addresses: new Map() }
    }
    return this.#opened
  }

  #knownAddress({ access, addresses }: Opened<Own, Sdk>, stream: boolean): Address | undefined {
    return this.#use.expires?.(access) ? undefined : addresses.get(stream)
  }

  async #findAddress({ context, addresses }: Opened<Own, Sdk>, sdk: Sdk, stream: boolean, params: RequestParams): Promise<Address> {
    let found: Address | undefined
    const fetch = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
      found = { url: String(url), headers: Object.fromEntries(new Headers(init?.headers)) }
      return Response.json({})
    }
    try {
      await this.#use.ask(sdk, fetch, { params, stream })
      if (found === undefined) throw new Error('Expected the SDK to make a request, got none')
    } catch (error) {
      throw this.#use.toError?.(error, context) ?? requestError(error, context)
    }
    const known = addresses.get(stream)
    if (known !== undefined && JSON.stringify(known) === JSON.stringify(found)) return known
    addresses.set(stream, found)
    return found
  }
}

/** Of settings, environment and preset. Throws `missing_api_key`, or `invalid_option` for an invalid address. */
export function findAccess(settings: ModelSettings, preset: ProviderPreset): Access {
  return { apiKey: findAPIKey(settings, preset), baseURL: findBaseURL(settings, preset) }
}

/** A response with further warnings before its own. */
function withWarnings(response: ModelResponse, before: Iterable<string>): ModelResponse {
  const warnings = [...before, ...(response.warnings ?? [])]
  return warnings.length === 0 ? response : { ...response, warnings }
}

/** What an error's message must not quote. A short "key", as local servers have, would black out words. */
function secretsOf(apiKey: string, headers: Record<string, string> = {}): string[] {
  const secretHeaders = Object.entries(headers).filter(([name]) => /auth|key|token|secret|cookie/i.test(name))
  return [apiKey, ...secretHeaders.map(([, value]) => value)].filter((secret) => secret.length >= 8)
}

/** Undoes the headers which an SDK adds to requests to anybody when the environment has `variable`, one `name: value` a line. */
export function withoutEnvironmentHeaders(variable: string, apiKey: string): Record<string, string | null> {
  const lines = (process.env[variable] ?? '').split('\n').filter((line) => line.includes(':'))
  const names = lines.map((line) => line.slice(0, line.indexOf(':')).trim().toLowerCase())
  return Object.fromEntries(names.map((name) => [name, name === 'authorization' ? `Bearer ${apiKey}` : null]))
}
