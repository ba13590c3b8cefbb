/** `toolloop/models/google`: the driver for Google's Gemini API and Vertex AI. */
import type { GenerateContentConfig, GenerateContentParameters, GoogleGenAI, GoogleGenAIOptions } from '@google/genai'
import { ModelError, rethrow, ToolloopError } from '../../core/errors.ts'
import { capabilitiesOf } from '../capabilities.ts'
import type { ChatModel } from '../chat-model.ts'
import { findAPIKey, findBaseURL, findPreset, type ProviderPreset, presetQuirks } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import { type Access, quietly, SdkClient } from '../transport/sdk-client.ts'
import { type GoogleQuirks, googleQuirks } from './quirks.ts'
import { GoogleApi } from './request.ts'

/** `ModelSettings`, and optionally the preset of a provider that is not in `config/providers.yaml`. */
export type GoogleModelSettings = ModelSettings & { preset?: ProviderPreset }

/**
 * Creates a model that uses `generateContent` of Google's Gemini API or Vertex AI. Uses the `@google/genai` package, an optional peer
 * dependency that is imported at the first request. `createModel` adds the retries.
 *
 * `generate` sends one request, plus one more request each time the provider stops at its own limit for one request (`CONTINUATION`, at
 * most 16 times). Thought signatures are kept in `providerData` and are sent back on the parts with which they arrived. To use tools that
 * the provider runs, list them in `providerOptions.tools`. Calls of these tools are also kept in `providerData`, and never returned as
 * calls.
 *
 * - `MALFORMED_FUNCTION_CALL`, `UNEXPECTED_TOOL_CALL` and similar: rejects with `bad_response`, which may be retried.
 * - `SAFETY`, `RECITATION` and similar, or a blocked prompt: returns `finishReason: 'content_filter'`. Calls are dropped.
 *
 * Rejects with `missing_dependency` if the package is not installed. Throws `invalid_option` for invalid quirks, and `unknown_provider` for
 * a provider without a preset.
 */
export function googleModel(settings: GoogleModelSettings): ChatModel {
  const { provider, model, preset = findPreset(provider) } = settings
  const quirks = googleQuirks(...presetQuirks(preset, model), settings.quirks)
  const client = googleClient(settings, preset, quirks)
  return client.model(new GoogleApi(provider, model, quirks, settings.providerOptions), capabilitiesOf(settings, quirks))
}

/** The placeholder for a missing key, because the SDK requires a key. */
const noKey = 'none'

/** Turns off the SDK's own loops, because the agent loop handles calls and length limits. */
const noLoops: GenerateContentConfig = { automaticFunctionCalling: { disable: true }, automaticContinuation: false }

/**
 * `apiKey` is `''` if `settings.headers` contain the credentials, or if the machine's own credentials are used. `baseURL` is `''` for the
 * SDK's default address.
 */
interface GoogleAccess extends Access {
  project: string
  location: string
}

/**
 * Creates the client of the `@google/genai` package for one model. The package is imported with the first request. The SDK determines the
 * address, the API version and the credentials, for the Gemini API and for Vertex AI. `HttpOptions.fetch` is the documented way to replace
 * its HTTP client.
 */
function googleClient(settings: ModelSettings, preset: ProviderPreset, quirks: GoogleQuirks): SdkClient<GoogleAccess, GoogleGenAI> {
  return new SdkClient(settings, preset, {
    findAccess: () => (quirks.service === 'vertex' ? findVertexAccess(settings, preset) : findGeminiAccess(settings, preset)),
    async open(access) {
      const { GoogleGenAI } = await importSdk(settings.provider)
      // Silences the SDK, which otherwise prints the credentials it chose.
      return quietly(() => new GoogleGenAI(optionsOf(access, settings, quirks)))
    },
    async ask(sdk, { params, stream }, exchange) {
      const { model, contents, config } = params as GenerateContentParameters
      const fetch = async (url: string | URL | Request, init?: RequestInit): Promise<Response> =>
        exchange.fetch(url, { ...init, headers: await withKey(new Headers(init?.headers), settings) })
      const request = { model, contents, config: { ...config, ...noLoops, httpOptions: { ...config?.httpOptions, fetch } } }
      await (stream ? sdk.models.generateContentStream(request) : sdk.models.generateContent(request))
    },
  })
}

/**
 * If `apiKey` is a function, adds the key that it returns, because the SDK does not support such functions. Removes the placeholder for a
 * missing key.
 */
async function withKey(headers: Headers, { apiKey }: ModelSettings): Promise<Headers> {
  if (typeof apiKey === 'function') headers.set('x-goog-api-key', await apiKey())
  else if (headers.get('x-goog-api-key') === noKey) headers.delete('x-goog-api-key')
  return headers
}

function findGeminiAccess(settings: ModelSettings, given: ProviderPreset): GoogleAccess {
  const preset = hasCredentials(settings) ? { ...given, apiKeyOptional: true } : given
  const key = findAPIKey(settings, preset)
  const apiKey = preset.apiKeyOptional && key === noKey ? '' : key
  return { apiKey, baseURL: findBaseURL(settings, preset), project: '', location: '' }
}

/**
 * Finds credentials for Vertex AI: a key in the settings (express mode), then a project in the environment with the machine's own
 * credentials, then a key in the environment. https://docs.cloud.google.com/vertex-ai/generative-ai/docs/start/express-mode/overview
 */
function findVertexAccess(settings: ModelSettings, given: ProviderPreset): GoogleAccess {
  const { provider, model } = settings
  const preset = { ...given, apiKeyOptional: true }
  const baseURL = settings.baseURL || fromEnvironment(preset.baseURLEnv) ? findBaseURL(settings, preset) : (preset.baseURL ?? '')
  const hasKey = typeof settings.apiKey === 'function' || settings.apiKey?.trim()
  const project = hasKey ? '' : (fromEnvironment('GOOGLE_CLOUD_PROJECT') ?? '')
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
  // Splits off a version in the base URL, because the SDK appends the version.
  const [, address = baseURL, written] = /^(.*?)\/?(?:\/(v\d\w*)\/?)?$/.exec(baseURL) ?? []
  const vertexai = quirks.service === 'vertex'
  const apiVersion = written ?? (quirks.apiVersion === 'beta' ? (vertexai ? 'v1beta1' : 'v1beta') : quirks.apiVersion)
  return {
    vertexai,
    ...(project === '' ? { apiKey: typeof apiKey === 'string' && apiKey !== '' ? apiKey : noKey } : { project, location }),
    httpOptions: {
      ...(address === '' ? {} : { baseUrl: address }),
      ...(apiVersion === null ? {} : { apiVersion }),
      headers,
    },
  }
}

/** The import of the SDK. It is cached, so that a missing package is not looked up again in each run. */
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

/** Whether the headers contain credentials, for example for a proxy. */
function hasCredentials({ headers }: ModelSettings): boolean {
  return Object.keys(headers ?? {}).some((name) => ['x-goog-api-key', 'authorization'].includes(name.toLowerCase()))
}

function fromEnvironment(name: string | undefined): string | undefined {
  return (name === undefined ? undefined : process.env[name]?.trim()) || undefined
}
