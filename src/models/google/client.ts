import type { GenerateContentConfig, GoogleGenAI, GoogleGenAIOptions } from '@google/genai'
import { ModelError, messageOf, ToolloopError } from '../../core/errors.ts'
import { abortedError, type ModelRequest } from '../chat-model.ts'
import { findAPIKey, findBaseURL, type ProviderPreset } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import type { ResponseReader } from '../streaming/response-body.ts'
import { connectionError, type ErrorContext, providerError } from '../transport/provider-error.ts'
import { openExchange, secretsOf } from '../transport/sdk-client.ts'
import type { GoogleQuirks } from './quirks.ts'

/** In place of a key, where there is none to send. */
const noKey = 'none'

/** Neither calls nor a response's limits are the SDK's to act on. */
const noLoops: GenerateContentConfig = { automaticFunctionCalling: { disable: true }, automaticContinuation: false }

/** API key or project, and base URL. */
interface GoogleAccess {
  /** `''`: none; the headers of the settings have what is needed, or the machine's own credentials are used. */
  apiKey: string
  /** `''`: where the SDK sends it. */
  baseURL: string
  project: string
  location: string
}

/** Where the SDK would send a request, and with which headers. */
interface Address {
  url: string
  headers: [string, string][]
}

/** The SDK's client for one access, and the addresses it has told, for streams and for whole responses. */
interface Opened {
  access: string
  sdk: GoogleGenAI
  hasKey: boolean
  addresses: Map<boolean, Address>
}

/** A request that may be made. */
interface GoogleCall {
  /** For the errors of this request. */
  context: ErrorContext
  /** Makes a request with `body`, whose response is fed to `reader`. Resolves with warnings; rejects with a `ModelError`. May be called again. */
  send(body: string, reader: ResponseReader): Promise<string[]>
}

/**
 * The `@google/genai` package for one model, imported with the first request, and made anew when key, project or address have changed: any
 * of them may come later through the environment. The SDK works out address, API version and credentials; the body is ours, because the
 * SDK would read and copy all of it.
 */
export class GoogleClient {
  readonly #settings: ModelSettings
  readonly #preset: ProviderPreset
  readonly #quirks: GoogleQuirks
  #opened: Opened | undefined

  constructor(settings: ModelSettings, preset: ProviderPreset, quirks: GoogleQuirks) {
    this.#settings = settings
    this.#preset = preset
    this.#quirks = quirks
  }

  /** Throws `aborted`, `missing_api_key`, or `invalid_option` for an invalid address. */
  start(request: Pick<ModelRequest, 'signal' | 'stream' | 'streamIdleTimeoutMs'>): GoogleCall {
    const { provider, model, headers } = this.#settings
    if (request.signal?.aborted) throw abortedError(provider, request.signal.reason)
    const access = this.#findAccess()
    const context = { provider, model, secrets: secretsOf(access.apiKey, headers) }
    return {
      context,
      send: async (body, reader) => {
        // Before the exchange: the time a package takes to load is no silence of the provider's.
        const opened = await this.#open(access)
        const exchange = openExchange(reader, request, this.#settings)
        return exchange.run(async () => {
          try {
            const { url, headers } = await this.#findAddress(opened, request.stream !== false)
            exchange.fetch(url, { method: 'POST', headers, body })
          } catch (error) {
            throw credentialError(error, context)
          }
        })
      },
    }
  }

  /** Rejects with what `start` throws, and with `missing_dependency` when the SDK is not installed. */
  async prepare(): Promise<void> {
    await this.#open(this.#findAccess())
  }

  /**
   * Where and with which headers a request is sent: the SDK is asked for one over a `fetch` that sends nothing. With a key it is asked once
   * for each kind; without one each time, for tokens expire. `HttpOptions.fetch` is the SDK's documented hook.
   */
  async #findAddress({ sdk, hasKey, addresses }: Opened, stream: boolean): Promise<Address> {
    const known = addresses.get(stream)
    if (known !== undefined && hasKey) return known
    let found: Address | undefined
    const fetch = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
      const headers = [...new Headers(init?.headers)].filter(([name, value]) => name !== 'x-goog-api-key' || value !== noKey)
      found = { url: String(url), headers }
      return Response.json({})
    }
    const request = { model: this.#settings.model, contents: 'x', config: { ...noLoops, httpOptions: { fetch } } }
    await (stream ? sdk.models.generateContentStream(request) : sdk.models.generateContent(request))
    if (found === undefined) throw new Error('Expected the SDK to make a request, got none')
    // The same object as before, by which the sender knows it.
    if (known?.url === found.url && String(known.headers) === String(found.headers)) return known
    addresses.set(stream, found)
    return found
  }

  #findAccess(): GoogleAccess {
    if (this.#quirks.service === 'vertex') return this.#findVertexAccess()
    const preset = hasCredentials(this.#settings) ? { ...this.#preset, apiKeyOptional: true } : this.#preset
    const key = findAPIKey(this.#settings, preset)
    const apiKey = preset.apiKeyOptional && key === noKey ? '' : key
    return { apiKey, baseURL: findBaseURL(this.#settings, preset), project: '', location: '' }
  }

  async #open(access: GoogleAccess): Promise<Opened> {
    const key = JSON.stringify(access)
    if (this.#opened?.access === key) return this.#opened
    const { GoogleGenAI } = await importSdk(this.#settings.provider)
    const sdk = quietly(() => new GoogleGenAI(this.#options(access)))
    const hasKey = access.apiKey !== '' || hasCredentials(this.#settings)
    this.#opened = { access: key, sdk, hasKey, addresses: new Map() }
    return this.#opened
  }

  /**
   * A key of the settings first, for Vertex AI's express mode; then a project of the environment, with the machine's own credentials; then
   * a key of the environment. https://docs.cloud.google.com/vertex-ai/generative-ai/docs/start/express-mode/overview
   */
  #findVertexAccess(): GoogleAccess {
    const { provider, model, apiKey: given } = this.#settings
    const preset = { ...this.#preset, apiKeyOptional: true }
    const baseURL =
      this.#settings.baseURL || fromEnvironment(preset.baseURLEnv) ? findBaseURL(this.#settings, preset) : (preset.baseURL ?? '')
    const project = given?.trim() ? '' : (fromEnvironment('GOOGLE_CLOUD_PROJECT') ?? '')
    if (project !== '') return { apiKey: '', baseURL, project, location: fromEnvironment('GOOGLE_CLOUD_LOCATION') ?? 'global' }
    const key = findAPIKey(this.#settings, preset)
    if (key !== noKey) return { apiKey: key, baseURL, project: '', location: '' }
    if (hasCredentials(this.#settings) && baseURL !== '') return { apiKey: '', baseURL, project: '', location: '' }
    const expected = '`apiKey` or the environment variable GOOGLE_CLOUD_PROJECT or GOOGLE_API_KEY'
    throw new ModelError('missing_api_key', `Expected ${expected} for \`${provider}/${model}\`, got none`, {
      provider,
      model,
      retryable: false,
    })
  }

  #options({ apiKey, baseURL, project, location }: GoogleAccess): GoogleGenAIOptions {
    // Addresses are also written with the version that the SDK appends.
    const [, address = baseURL, written] = /^(.*?)\/?(?:\/(v\d\w*)\/?)?$/.exec(baseURL) ?? []
    const vertexai = this.#quirks.service === 'vertex'
    const apiVersion = written ?? (this.#quirks.apiVersion === 'beta' ? (vertexai ? 'v1beta1' : 'v1beta') : this.#quirks.apiVersion)
    return {
      vertexai,
      ...(project === '' ? { apiKey: apiKey || noKey } : { project, location }),
      httpOptions: {
        ...(address === '' ? {} : { baseUrl: address }),
        ...(apiVersion === null ? {} : { apiVersion }),
        ...(this.#settings.headers === undefined ? {} : { headers: this.#settings.headers }),
      },
    }
  }
}

/** Asked for once: a package that is missing is not looked for again with each run. */
let imported: Promise<typeof import('@google/genai')> | undefined

async function importSdk(provider: string): Promise<typeof import('@google/genai')> {
  try {
    imported ??= import('@google/genai')
    return await imported
  } catch (cause) {
    throw new ToolloopError(
      'missing_dependency',
      `The provider \`${provider}\` needs the package \`@google/genai\`: npm install @google/genai`,
      { cause },
    )
  }
}

/** The SDK tells on the console which of several credentials it has chosen; here it is told which to take. */
function quietly<T>(make: () => T): T {
  const { debug, warn } = console
  Object.assign(console, { debug() {}, warn() {} })
  try {
    return make()
  } finally {
    Object.assign(console, { debug, warn })
  }
}

/** A proxy may be given its credentials as one of the headers. */
function hasCredentials({ headers }: ModelSettings): boolean {
  return Object.keys(headers ?? {}).some((name) => ['x-goog-api-key', 'authorization'].includes(name.toLowerCase()))
}

function fromEnvironment(name: string | undefined): string | undefined {
  return (name === undefined ? undefined : process.env[name]?.trim()) || undefined
}

/** What the SDK's search for credentials came to. A service that gives out tokens can fail as any other. */
function credentialError(error: unknown, context: ErrorContext): ModelError {
  const { status, code } = typeof error === 'object' && error !== null ? { status: undefined, code: undefined, ...error } : {}
  if (typeof status === 'number' && (status >= 500 || status === 429)) return providerError({ status, body: messageOf(error) }, context)
  if (typeof code === 'string' && /^E(CONN|HOST|NET|NOTFOUND|AI_AGAIN|PIPE|TIMEDOUT)/.test(code)) return connectionError(error, context)
  const { provider, model } = context
  const message = `Expected credentials for \`${provider}/${model}\`, got: ${messageOf(error)}`
  return new ModelError('unauthorized', message, { provider, model, retryable: false, cause: error })
}
