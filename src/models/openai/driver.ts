import type { OpenAI } from 'openai'
import { capabilitiesOf } from '../capabilities.ts'
import type { ChatModel } from '../chat-model.ts'
import { findPreset, type ProviderPreset, presetQuirks } from '../presets.ts'
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
import { openAIQuirks } from './quirks.ts'
import { OpenAIApi } from './request.ts'

/** `ModelSettings`, and the preset of a provider that is not in `config/providers.yaml`. */
export type OpenAIModelSettings = ModelSettings & { preset?: ProviderPreset }

/**
 * Creates a model behind OpenAI's Chat Completions API, or any server that speaks it. Uses the `openai` package, which is imported at the
 * first request. `generate` sends exactly one request; `createModel` adds the retries.
 *
 * A refusal's words are the response's text, with `finishReason: 'refusal'`. Reasoning is returned as `reasoning` and kept in
 * `providerData`.
 *
 * Throws `invalid_option` for invalid quirks, and `unknown_provider` for a provider without a preset.
 */
export function openaiModel(settings: OpenAIModelSettings): ChatModel {
  const { provider, model, preset = findPreset(provider) } = settings
  const quirks = openAIQuirks(...presetQuirks(preset, model), settings.quirks)
  const client = openAIClient(settings, preset, (sdk, params, options) =>
    sdk.chat.completions.create(params as Parameters<typeof sdk.chat.completions.create>[0], options),
  )
  return client.model(new OpenAIApi(provider, model, quirks, settings.providerOptions), capabilitiesOf(settings, quirks))
}

/** Sends a request with a method of the SDK. */
type Create = (sdk: OpenAI, params: RequestParams, options: OpenAI.RequestOptions) => { asResponse(): Promise<Response> }

/** The client of the `openai` package, for any server that speaks one of OpenAI's formats. The SDK is imported with the first request. */
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
    ask: (sdk, { params }, exchange) => create(sdk, params, requestOptions(exchange)).asResponse(),
  })
}
