import type { OpenAI } from 'openai'
import type { ProviderPreset } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import {
  type Access,
  exchangeFetch,
  findAccess,
  type RequestParams,
  requestOptions,
  SdkClient,
  withoutVariable,
} from '../transport/sdk-client.ts'

/** Sends a request with the SDK's method for an API. */
type Send = (sdk: OpenAI, params: RequestParams, options: OpenAI.RequestOptions) => { asResponse(): Promise<Response> }

const senders: Readonly<Record<'completions' | 'responses', Send>> = {
  completions: (sdk, params, options) => sdk.chat.completions.create(params as Parameters<typeof sdk.chat.completions.create>[0], options),
  responses: (sdk, params, options) => sdk.responses.create(params as Parameters<typeof sdk.responses.create>[0], options),
}

/** The client of the `openai` package, for any server that speaks one of OpenAI's formats. The SDK is imported with the first request. */
export function openAIClient(settings: ModelSettings, preset: ProviderPreset, api: keyof typeof senders): SdkClient<Access, OpenAI> {
  const { [api]: send } = senders
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
          // Other servers must not receive the organization and project of the OpenAI account in the environment.
          ...(sdkEnvironment ? {} : { organization: null, project: null }),
          defaultHeaders: {
            // The timeout here differs from the SDK's.
            'X-Stainless-Timeout': null,
            ...(apiKeyHeader === undefined || !isKey ? {} : { [apiKeyHeader]: apiKey, Authorization: null }),
            ...settings.headers,
          },
        })
      return sdkEnvironment ? make() : withoutVariable('OPENAI_CUSTOM_HEADERS', make)
    },
    ask: (sdk, { params }, exchange) => send(sdk, params, requestOptions(exchange)).asResponse(),
  })
}
