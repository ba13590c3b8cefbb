import type { ClientOptions, OpenAI } from 'openai'
import type { ProviderPreset } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import { fetchBySdk, noTimeoutMs, RequestBuilder, SdkClient, withoutEnvironmentHeaders } from '../transport/sdk-client.ts'

type BuildRequest = OpenAI['buildRequest']

/** The client of the `openai` package, imported with the first request, for any server that speaks one of OpenAI's formats. */
export function openAIClient(settings: ModelSettings, preset: ProviderPreset): SdkClient<OpenAI> {
  return new SdkClient(settings, preset, async ({ apiKey, baseURL }) => {
    const { OpenAI: Client } = await import('openai')
    const { apiKeyHeader, sdkEnvironment } = preset
    const options: ClientOptions = {
      apiKey,
      baseURL,
      adminAPIKey: null,
      maxRetries: 0,
      timeout: noTimeoutMs,
      logLevel: 'off',
      fetch: fetchBySdk,
      // What the environment says of OpenAI's own account is nobody else's business.
      ...(sdkEnvironment ? {} : { organization: null, project: null }),
      defaultHeaders: {
        ...(sdkEnvironment ? {} : withoutEnvironmentHeaders('OPENAI_CUSTOM_HEADERS', apiKey)),
        'X-Stainless-Timeout': null,
        ...(apiKeyHeader === undefined ? {} : { [apiKeyHeader]: apiKey, Authorization: null }),
        ...settings.headers,
      },
    }
    // The SDK takes the class's name for its user agent, so it keeps the name.
    return new (class OpenAI extends Client {
      readonly #requests = new RequestBuilder<Awaited<ReturnType<BuildRequest>>>()

      override buildRequest(...[given, attempt]: Parameters<BuildRequest>): ReturnType<BuildRequest> {
        return this.#requests.build(given, () => super.buildRequest(given, attempt))
      }
    })(options)
  })
}
