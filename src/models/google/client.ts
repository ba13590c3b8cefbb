import type { GenerateContentConfig, GoogleGenAI, GoogleGenAIOptions } from '@google/genai'
import { ModelError, messageOf, rethrow, ToolloopError } from '../../core/errors.ts'
import { findAPIKey, findBaseURL, type ProviderPreset } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import { connectionError, type ErrorContext, providerError } from '../transport/provider-error.ts'
import { type Access, SdkClient } from '../transport/sdk-client.ts'
import type { GoogleQuirks } from './quirks.ts'

/** In place of a key, where there is none to send. */
const noKey = 'none'

/** Neither calls nor a response's limits are the SDK's to act on. */
const noLoops: GenerateContentConfig = { automaticFunctionCalling: { disable: true }, automaticContinuation: false }

/**
 * API key or project, and base URL. `apiKey` may be `''`: the headers of the settings have what is needed, or the machine's own credentials
 * are used; `baseURL`, too: where the SDK sends it.
 */
interface GoogleAccess extends Access {
  project: string
  location: string
}

/**
 * The `@google/genai` package for one model, imported with the first request. The SDK works out address, API version and credentials, for the
 * Gemini API and for Vertex AI. `HttpOptions.fetch` is its documented hook.
 */
export function googleClient(settings: ModelSettings, preset: ProviderPreset, quirks: GoogleQuirks): SdkClient<GoogleAccess, GoogleGenAI> {
  return new SdkClient(settings, preset, {
    findAccess: () => (quirks.service === 'vertex' ? findVertexAccess(settings, preset) : findGeminiAccess(settings, preset)),
    async open(access) {
      const { GoogleGenAI } = await importSdk(settings.provider)
      return quietly(() => new GoogleGenAI(optionsOf(access, settings, quirks)))
    },
    async ask(sdk, fetch, { stream }) {
      const withoutNoKey = (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
        const headers = new Headers(init?.headers)
        if (headers.get('x-goog-api-key') === noKey) headers.delete('x-goog-api-key')
        return fetch(url, { ...init, headers })
      }
      // Not with the whole conversation, all of which the SDK would read and copy.
      const request = { model: settings.model, contents: 'x', config: { ...noLoops, httpOptions: { fetch: withoutNoKey } } }
      await (stream ? sdk.models.generateContentStream(request) : sdk.models.generateContent(request))
    },
    // A project's token is the SDK's to renew, unless the caller authorizes; a gateway's key beside it doesn't.
    expires: ({ apiKey, project }) => apiKey === '' && !(project === '' ? hasCredentials(settings) : hasAuthorization(settings)),
    toError: credentialError,
  })
}

function findGeminiAccess(settings: ModelSettings, given: ProviderPreset): GoogleAccess {
  const preset = hasCredentials(settings) ? { ...given, apiKeyOptional: true } : given
  const key = findAPIKey(settings, preset)
  const apiKey = preset.apiKeyOptional && key === noKey ? '' : key
  return { apiKey, baseURL: findBaseURL(settings, preset), project: '', location: '' }
}

/**
 * A key of the settings first, for Vertex AI's express mode; then a project of the environment, with the machine's own credentials; then
 * a key of the environment. https://docs.cloud.google.com/vertex-ai/generative-ai/docs/start/express-mode/overview
 */
function findVertexAccess(settings: ModelSettings, given: ProviderPreset): GoogleAccess {
  const { provider, model } = settings
  const preset = { ...given, apiKeyOptional: true }
  const baseURL = settings.baseURL || fromEnvironment(preset.baseURLEnv) ? findBaseURL(settings, preset) : (preset.baseURL ?? '')
  const project = settings.apiKey?.trim() ? '' : (fromEnvironment('GOOGLE_CLOUD_PROJECT') ?? '')
  if (project !== '') return { apiKey: '', baseURL, project, location: fromEnvironment('GOOGLE_CLOUD_LOCATION') ?? 'global' }
  const key = findAPIKey(settings, preset)
  if (key !== noKey) return { apiKey: key, baseURL, project: '', location: '' }
  if (hasCredentials(settings) && baseURL !== '') return { apiKey: '', baseURL, project: '', location: '' }
  const expected = '`apiKey` or the environment variable GOOGLE_CLOUD_PROJECT or GOOGLE_API_KEY'
  throw new ModelError('missing_api_key', `Expected ${expected} for \`${provider}/${model}\`, got none`, {
    provider,
    model,
    retryable: false,
  })
}

function optionsOf(
  { apiKey, baseURL, project, location }: GoogleAccess,
  { headers }: ModelSettings,
  quirks: GoogleQuirks,
): GoogleGenAIOptions {
  // Addresses are also written with the version that the SDK appends.
  const [, address = baseURL, written] = /^(.*?)\/?(?:\/(v\d\w*)\/?)?$/.exec(baseURL) ?? []
  const vertexai = quirks.service === 'vertex'
  const apiVersion = written ?? (quirks.apiVersion === 'beta' ? (vertexai ? 'v1beta1' : 'v1beta') : quirks.apiVersion)
  return {
    vertexai,
    ...(project === '' ? { apiKey: apiKey || noKey } : { project, location }),
    httpOptions: {
      ...(address === '' ? {} : { baseUrl: address }),
      ...(apiVersion === null ? {} : { apiVersion }),
      ...(headers === undefined ? {} : { headers }),
    },
  }
}

/** Asked for once: a package that is missing is not looked for again with each run. */
let imported: Promise<typeof import('@google/genai')> | undefined

async function importSdk(provider: string): Promise<typeof import('@google/genai')> {
  try {
    imported ??= import('@google/genai').catch(rethrow)
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

function hasAuthorization({ headers = {} }: ModelSettings): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')
}
