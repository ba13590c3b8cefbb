import type { OpenAI } from 'openai'
import type { ProviderPreset } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import { type Access, findAccess, type RequestParams, SdkClient, withoutEnvironmentHeaders } from '../transport/sdk-client.ts'

type Create = (sdk: OpenAI, params: RequestParams) => { asResponse(): Promise<Response> }

type NewClient = (fetch: typeof globalThis.fetch) => OpenAI

/** The client of the `openai` package, imported with the first request, for any server that speaks one of OpenAI's formats. */
export function openAIClient(settings: ModelSettings, preset: ProviderPreset, create: Create): SdkClient<Access, NewClient> {
  return new SdkClient(settings, preset, {
    findAccess: () => findAccess(settings, preset),
    async open({ apiKey, baseURL }) {
      const { OpenAI } = await import('openai')
      const { apiKeyHeader, sdkEnvironment } = preset
      // Made anew for each address: the SDK reads the environment again, and so do the headers that undo it.
      return (fetch) =>
        new OpenAI({
          fetch,
          apiKey,
          baseURL,
          adminAPIKey: null,
          logLevel: 'off',
          // What the environment says of OpenAI's own account is nobody else's business.
          ...(sdkEnvironment ? {} : { organization: null, project: null }),
          defaultHeaders: {
            ...(sdkEnvironment ? {} : withoutEnvironmentHeaders('OPENAI_CUSTOM_HEADERS', apiKey)),
            // Ours is another.
            'X-Stainless-Timeout': null,
            ...(apiKeyHeader === undefined ? {} : { [apiKeyHeader]: apiKey, Authorization: null }),
            ...settings.headers,
          },
        })
    },
    ask: (newClient, fetch, { params }) => create(newClient(fetch), params).asResponse(),
  })
}
