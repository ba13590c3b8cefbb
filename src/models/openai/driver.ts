import { capabilitiesOf } from '../capabilities.ts'
import type { ChatModel, ModelRequest, ModelResponse, ModelSink } from '../chat-model.ts'
import { findPreset, type ProviderPreset, presetQuirks } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import { withWarnings } from '../transport/sdk-client.ts'
import { openAIClient } from './client.ts'
import { openAIQuirks } from './quirks.ts'
import { OpenAIRequests } from './request.ts'
import { OpenAIResponse } from './response.ts'

/** `ModelSettings`, and for a provider that is not in `config/providers.yaml`, what would stand there. */
export type OpenAIModelSettings = ModelSettings & { preset?: ProviderPreset }

/**
 * A model behind OpenAI's Chat Completions API, or any server that speaks it, through the `openai` package (imported at the first
 * request). `generate` makes exactly one request; `createModel` adds the retries.
 *
 * What a refusal says is the response's text, with `finishReason: 'refusal'`. Reasoning is given out as `reasoning` and kept in
 * `providerData`. Throws `invalid_option` for invalid quirks, `unknown_provider` for a provider without preset.
 */
export function openaiModel(settings: OpenAIModelSettings): ChatModel {
  const { provider, model, preset = findPreset(provider) } = settings
  const quirks = openAIQuirks(...presetQuirks(preset, model), settings.quirks)
  const client = openAIClient(settings, preset, (sdk, body) => sdk.chat.completions.create(JSON.parse(body)))
  const requests = new OpenAIRequests(provider, model, quirks, settings.providerOptions)
  return {
    provider,
    model,
    capabilities: { ...capabilitiesOf(settings, quirks), ...(quirks.reportsCost ? { reportsCost: true } : {}) },
    prepare: () => client.prepare(),
    async generate(request: ModelRequest, sink?: ModelSink): Promise<ModelResponse> {
      const { access, context, send } = client.start(request)
      const { json, warnings } = requests.build(request, access.baseURL)
      const response = new OpenAIResponse(context, sink, quirks.reportsCost)
      const oddities = await send(json, response)
      return withWarnings(response.finish(), [...warnings, ...oddities])
    },
  }
}
