import type { OpenAI } from 'openai'
import type { ProviderPreset } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import { type Access, findAccess, type RequestParams, SdkClient } from '../transport/sdk-client.ts'
import { exchangeFetch, requestOptions, withoutVariable } from '../transport/sdk-options.ts'

/** Makes a request by a method of the SDK. */
type Create = (sdk: OpenAI, params: RequestParams, options: OpenAI.RequestOptions) => { asResponse(): Promise<Response> }

/** The client of the `openai` package, imported with the first request, for any server that speaks one of OpenAI's formats. */
export function openAIClient(settings: ModelSettings, preset: ProviderPreset, create: Create): SdkClient<Access, OpenAI> {
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
          // What the environment says of OpenAI's own account is nobody else's business.
          ...(sdkEnvironment ? {} : { organization: null, project: null }),
          defaultHeaders: {
            // Ours is another.
            'X-Stainless-Timeout': null,
            ...(apiKeyHeader === undefined || !isKey ? {} : { [apiKeyHeader]: apiKey, Authorization: null }),
            ...settings.headers,
          },
        })
      return sdkEnvironment ? make() : withoutVariable('OPENAI_CUSTOM_HEADERS', make)
    },
    ask: (sdk, { params }, exchange) => create(sdk, params, requestOptions(exchange)).asResponse(),
  })
}
