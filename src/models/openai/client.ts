import type { OpenAI } from 'openai'
import type { ProviderPreset } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import { type Access, exchangeFetch, findAccess, SdkClient, type SdkUse, withoutVariable } from '../transport/sdk-client.ts'

/** Calls the SDK's method for one of OpenAI's APIs. */
export type AskOpenAI = SdkUse<Access, OpenAI>['ask']

/**
 * Creates a client of the `openai` package, for any server that speaks one of OpenAI's formats. The SDK is imported with the first request.
 */
export function openAIClient(settings: ModelSettings, preset: ProviderPreset, ask: AskOpenAI): SdkClient<Access, OpenAI> {
  return new SdkClient(settings, preset, {
    findAccess: () => findAccess(settings, preset),
    async open({ apiKey, baseURL }) {
      const { OpenAI } = await import('openai')
      const { apiKeyHeader, sdkEnvironment } = preset
      const isKey = typeof apiKey === 'string'
      const make = () =>
        new OpenAI({
          fetch: exchangeFetch,
          apiKey: isKey ? apiKey : async () => await apiKey(),
          baseURL,
          adminAPIKey: null,
          logLevel: 'off',
          // By default, the SDK sends the organization and project from the environment. Other servers must not receive them.
          ...(sdkEnvironment ? {} : { organization: null, project: null }),
          defaultHeaders: {
            // Removes the header with the SDK's timeout, because toolloop uses its own timeout.
            'X-Stainless-Timeout': null,
            ...(apiKeyHeader === undefined || !isKey ? {} : { [apiKeyHeader]: apiKey, Authorization: null }),
            ...settings.headers,
          },
        })
      return sdkEnvironment ? make() : withoutVariable('OPENAI_CUSTOM_HEADERS', make)
    },
    ask,
  })
}
