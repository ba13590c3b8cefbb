import { abortedError, type ModelRequest, type ModelResponse } from '../chat-model.ts'
import { findAPIKey, findBaseURL, givenBaseURL, type ProviderPreset } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import type { ResponseReader } from '../streaming/response-body.ts'
import { HttpExchange } from './http-exchange.ts'
import { type ErrorContext, requestError } from './provider-error.ts'

/** An SDK's own timeout is put out of the way: it does not cover a stream's body, ours does. */
export const noTimeoutMs: number = 2 ** 31 - 1

/** Longest silence by default, in milliseconds. A whole response is silent until it is written. */
const defaultIdleMs = 60_000
const defaultWholeMs = 600_000

/** API key and base URL. */
export interface Access {
  apiKey: string
  baseURL: string
}

/** What an SDK's method takes besides its parameters. */
interface SentOptions {
  /** The parameters as JSON: the SDK's own serialiser calls a function for each value of the history, ours joins texts that are there. */
  body: string
  headers: Record<string, string>
  fetchOptions: Carrier
}

/** What the SDKs hand from a request's options to their `fetch` carries the exchange there. */
interface Carrier {
  exchange: HttpExchange
  redirect: 'follow'
}

/** A request that may be made. */
export interface SdkRequest<Sdk> {
  access: Access
  /** For the errors of this request. */
  context: ErrorContext
  /**
   * Has `call` make a request with `body`, whose response is fed to `reader`. Resolves with warnings; rejects with a `ModelError`. May be
   * called again.
   */
  send(body: string, reader: ResponseReader, call: (sdk: Sdk, options: SentOptions) => SdkPromise): Promise<string[]>
}

interface SdkPromise {
  asResponse(): Promise<Response>
}

/** A provider's SDK client, made anew when key or address have changed, so that either may come or be replaced later through the environment. */
export class SdkClient<Sdk> {
  readonly #settings: ModelSettings
  readonly #preset: ProviderPreset
  readonly #make: (access: Access) => Promise<Sdk>
  #access: (Access & { secrets: string[]; givenURL: string | undefined }) | undefined
  #known: { access: Access; sdk: Sdk } | undefined

  /** `make` imports the SDK: nothing is loaded before the first request. */
  constructor(settings: ModelSettings, preset: ProviderPreset, make: (access: Access) => Promise<Sdk>) {
    this.#settings = settings
    this.#preset = preset
    this.#make = make
  }

  /** Throws `aborted`, `missing_api_key`, or `invalid_option` for an invalid address. */
  start(request: Pick<ModelRequest, 'signal' | 'stream' | 'streamIdleTimeoutMs'>): SdkRequest<Sdk> {
    const { provider, model } = this.#settings
    const { signal } = request
    if (signal?.aborted) throw abortedError(provider, signal.reason)
    const access = this.#findAccess()
    const context = { provider, model, secrets: access.secrets }
    return {
      access,
      context,
      send: async (body, reader, call) => {
        // Before the exchange: the time a package takes to load is no silence of the provider's.
        const sdk = await this.#open(access)
        const exchange = openExchange(reader, request, this.#settings)
        const options = { body, headers: { 'Content-Type': 'application/json' }, fetchOptions: { exchange, redirect: 'follow' } } as const
        return exchange.run(async () => {
          try {
            await call(sdk, options).asResponse()
          } catch (error) {
            // It only builds the request: the exchange sends it.
            throw requestError(error, context)
          }
        })
      },
    }
  }

  /** Makes the client. Rejects with what `start` throws, and for a package that is not installed. */
  async prepare(): Promise<void> {
    await this.#open(this.start({}).access)
  }

  /** The same object as long as nothing has changed in it. */
  #findAccess(): Access & { secrets: string[] } {
    const apiKey = findAPIKey(this.#settings, this.#preset)
    const givenURL = givenBaseURL(this.#settings, this.#preset)
    if (this.#access?.apiKey !== apiKey || this.#access.givenURL !== givenURL) {
      const secrets = secretsOf(apiKey, this.#settings.headers)
      this.#access = { apiKey, baseURL: findBaseURL(this.#settings, this.#preset), secrets, givenURL }
    }
    return this.#access
  }

  async #open(access: Access): Promise<Sdk> {
    if (this.#known?.access === access) return this.#known.sdk
    const sdk = await this.#make(access)
    this.#known = { access, sdk }
    return sdk
  }
}

/** A request's exchange, with the time-outs and the `fetch` that are set. */
export function openExchange(
  reader: ResponseReader,
  { signal, stream, streamIdleTimeoutMs }: Pick<ModelRequest, 'signal' | 'stream' | 'streamIdleTimeoutMs'>,
  { provider, fetch, streamIdleTimeoutMs: usualIdleMs }: ModelSettings,
): HttpExchange {
  const idleMs = streamIdleTimeoutMs ?? usualIdleMs ?? (stream === false ? defaultWholeMs : defaultIdleMs)
  return new HttpExchange({ reader, provider, signal, idleMs, fetch })
}

/**
 * The `fetch` of an SDK's client: gives the request to its exchange, which reads the answer, errors included. The SDK is told at once that
 * the request was sent.
 */
export async function fetchBySdk(
  url: string | URL | Request,
  { exchange, ...init }: RequestInit & { exchange?: HttpExchange } = {},
): Promise<Response> {
  if (exchange === undefined) throw new TypeError('Expected a request of an exchange')
  exchange.fetch(String(url), init)
  sent ??= new Response(null)
  return sent
}

/** One for all, because making one costs more than sending a request. */
let sent: Response | undefined

/** A request as the SDKs' `buildRequest` makes it, and what it is made of. */
interface BuiltRequest {
  req: { body?: unknown }
}
interface GivenRequest {
  path: string
  body?: unknown
  fetchOptions?: object | undefined
}

/** Has an SDK build its first request; later ones to the same path differ in their bodies alone. */
export class RequestBuilder<Built extends BuiltRequest> {
  #first: (Built & { path: string }) | undefined

  /** `build`: the SDK's own `buildRequest`. */
  async build({ path, body, fetchOptions }: GivenRequest, build: () => Promise<Built>): Promise<Built> {
    if (this.#first?.path === path) return { ...this.#first, req: { ...this.#first.req, body, ...fetchOptions } }
    const built = await build()
    // Without what is the first one's own, which would be kept as long as the client is.
    this.#first = { ...built, path, req: { ...built.req, body: undefined, exchange: undefined } }
    return built
  }
}

/** A response with further warnings before its own. */
export function withWarnings(response: ModelResponse, before: Iterable<string>): ModelResponse {
  const warnings = [...before, ...(response.warnings ?? [])]
  return warnings.length === 0 ? response : { ...response, warnings }
}

/** What an error's message must not quote. A short "key", as local servers have, would black out words. */
export function secretsOf(apiKey: string, headers: Record<string, string> = {}): string[] {
  const secretHeaders = Object.entries(headers).filter(([name]) => /auth|key|token|secret|cookie/i.test(name))
  return [apiKey, ...secretHeaders.map(([, value]) => value)].filter((secret) => secret.length >= 8)
}

/** Undoes the headers which an SDK adds to requests to anybody when the environment has `variable`, one `name: value` a line. */
export function withoutEnvironmentHeaders(variable: string, apiKey: string): Record<string, string | null> {
  const lines = (process.env[variable] ?? '').split('\n').filter((line) => line.includes(':'))
  const names = lines.map((line) => line.slice(0, line.indexOf(':')).trim().toLowerCase())
  return Object.fromEntries(names.map((name) => [name, name === 'authorization' ? `Bearer ${apiKey}` : null]))
}
