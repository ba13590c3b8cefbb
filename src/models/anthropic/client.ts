import type { Anthropic, ClientOptions } from '@anthropic-ai/sdk'
import type { ProviderPreset } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import { fetchBySdk, noTimeoutMs, RequestBuilder, SdkClient, withoutEnvironmentHeaders } from '../transport/sdk-client.ts'

type BuildRequest = Anthropic['buildRequest']

/**
 * The client of the `@anthropic-ai/sdk` package, imported with the first request, for any server that speaks Anthropic's format.
 * `version`: its `anthropic-version`, where that is not the SDK's.
 */
export function anthropicClient(settings: ModelSettings, preset: ProviderPreset, version: string | null): SdkClient<Anthropic> {
  const ownCredentials = hasCredentials(settings)
  return new SdkClient(settings, ownCredentials ? { ...preset, apiKeyOptional: true } : preset, async ({ apiKey, baseURL }) => {
    const { Anthropic: Client } = await import('@anthropic-ai/sdk')
    const { apiKeyHeader, sdkEnvironment } = preset
    const options: ClientOptions = {
      apiKey,
      // The SDK appends `/v1/messages`; addresses are also written with what it appends.
      baseURL: baseURL.replace(/\/(v1\/?)?$/, ''),
      webhookKey: null,
      maxRetries: 0,
      timeout: noTimeoutMs,
      logLevel: 'off',
      openTelemetry: false,
      fetch: fetchBySdk,
      defaultHeaders: {
        ...(sdkEnvironment ? {} : withoutEnvironmentHeaders('ANTHROPIC_CUSTOM_HEADERS', apiKey)),
        'X-Stainless-Timeout': null,
        ...(version === null ? {} : { 'anthropic-version': version }),
        ...(ownCredentials ? { Authorization: null } : {}),
        ...(apiKeyHeader === undefined ? {} : { [apiKeyHeader]: apiKey, Authorization: null }),
        ...settings.headers,
      },
    }
    // The SDK takes the class's name for its user agent, so it keeps the name.
    return new (class Anthropic extends Client {
      readonly #requests = new RequestBuilder<Awaited<ReturnType<BuildRequest>>>()

      override buildRequest(...[given, attempt]: Parameters<BuildRequest>): ReturnType<BuildRequest> {
        return this.#requests.build(given, () => super.buildRequest(given, attempt))
      }
    })(options)
  })
}

/** Compatible servers may be given their key as one of the headers. */
export function hasCredentials({ headers }: ModelSettings): boolean {
  return Object.keys(headers ?? {}).some((name) => ['x-api-key', 'authorization'].includes(name.toLowerCase()))
}
