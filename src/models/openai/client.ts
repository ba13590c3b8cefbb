import type { ClientOptions, OpenAI } from 'openai'
import type { ProviderPreset } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import { noTimeoutMs, SdkClient, withoutEnvironmentHeaders } from '../transport/sdk-client.ts'
import { leanOpenAI } from './lean-client.ts'

/** The client of the `openai` package, imported with the first request, for any server that speaks one of OpenAI's formats. */
export function openAIClient(settings: ModelSettings, preset: ProviderPreset): SdkClient<OpenAI> {
  return new SdkClient(settings, preset, async ({ apiKey, baseURL }) => {
    const { OpenAI } = await import('openai')
    const { headers, fetch } = settings
    const { apiKeyHeader, sdkEnvironment } = preset
    const options: ClientOptions = {
      apiKey,
      baseURL,
      adminAPIKey: null,
      maxRetries: 0,
      timeout: noTimeoutMs,
      logLevel: 'off',
      // What the environment says of OpenAI's own account is nobody else's business.
      ...(sdkEnvironment ? {} : { organization: null, project: null }),
      defaultHeaders: {
        ...(sdkEnvironment ? {} : withoutEnvironmentHeaders('OPENAI_CUSTOM_HEADERS', apiKey)),
        'X-Stainless-Timeout': null,
        ...(apiKeyHeader === undefined ? {} : { [apiKeyHeader]: apiKey, Authorization: null }),
        ...headers,
      },
    }
    return leanOpenAI(OpenAI, options, fetch)
  })
}
