import type { GoogleGenAIOptions } from '@google/genai'
import { ModelError, ToolloopError } from '../../core/errors.ts'
import { findAPIKey, findBaseURL, type ProviderPreset } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import { LeanGoogle, noKey } from './lean-client.ts'
import type { GoogleQuirks } from './quirks.ts'

/** With which key, or in which project, to ask where. */
export interface GoogleAccess {
  /** `''`: none; the headers of the settings have what is needed, or the machine's own credentials are used. */
  apiKey: string
  /** `''`: where the SDK sends it. */
  baseURL: string
  project: string
  location: string
}

/** The way to one model, made anew when key, project or address have changed: any of them may come later through the environment. */
export class GoogleClient {
  readonly #settings: ModelSettings
  readonly #preset: ProviderPreset
  readonly #quirks: GoogleQuirks
  #known: { access: string; client: LeanGoogle } | undefined

  constructor(settings: ModelSettings, preset: ProviderPreset, quirks: GoogleQuirks) {
    this.#settings = settings
    this.#preset = preset
    this.#quirks = quirks
  }

  /** Throws `missing_api_key`, or `invalid_option` for an address that is none. */
  findAccess(): GoogleAccess {
    if (this.#quirks.service === 'vertex') return this.#findVertexAccess()
    const preset = hasCredentials(this.#settings) ? { ...this.#preset, apiKeyOptional: true } : this.#preset
    const key = findAPIKey(this.#settings, preset)
    return {
      apiKey: preset.apiKeyOptional && key === noKey ? '' : key,
      baseURL: findBaseURL(this.#settings, preset),
      project: '',
      location: '',
    }
  }

  /** Rejects with `missing_dependency` when the SDK is not installed. */
  async open(access: GoogleAccess): Promise<LeanGoogle> {
    const key = JSON.stringify(access)
    if (this.#known?.access === key) return this.#known.client
    const { GoogleGenAI } = await importSdk(this.#settings.provider)
    const { apiKey } = access
    const sdk = quietly(() => new GoogleGenAI(this.#options(access)))
    const client = new LeanGoogle(sdk, this.#settings.model, apiKey !== '' || hasCredentials(this.#settings), this.#settings.fetch)
    this.#known = { access: key, client }
    return client
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
    const expected = '`apiKey`, or the environment variable GOOGLE_CLOUD_PROJECT or GOOGLE_API_KEY, to say'
    throw new ModelError('missing_api_key', `Expected ${expected} how \`${provider}/${model}\` is paid for, got none`, {
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
      `Expected the package \`@google/genai\`, which the provider \`${provider}\` needs, got none: npm install @google/genai`,
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
