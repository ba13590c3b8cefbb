/** `toolloop/models/openai-responses`: the driver for OpenAI's Responses API. */
import { capabilitiesOf } from '../capabilities.ts'
import type { ChatModel } from '../chat-model.ts'
import { openAIClient } from '../openai/client.ts'
import { findPreset, type ProviderPreset, presetQuirks } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import { responsesQuirks } from './quirks.ts'
import { askResponses, ResponsesApi } from './request.ts'

/** `ModelSettings`, and optionally the preset of a provider that is not in `config/providers.yaml`. */
export type ResponsesModelSettings = ModelSettings & { preset?: ProviderPreset }

/**
 * Creates a model that uses the Responses API, on OpenAI's server or any compatible server. Uses the `openai` package, which is imported at
 * the first request. `generate` sends exactly one request; `createModel` adds the retries.
 *
 * The server stores nothing: each request contains the whole conversation and says `store: false`. Encrypted reasoning is kept in
 * `providerData` and sent back to the same provider. To use tools that the provider runs, list them in `providerOptions.tools`; their items
 * are kept and sent back in the same way. A call of a custom tool has one argument, `input`, which is the text that the model wrote.
 *
 * - `providerOptions.reasoning` and `.include` are merged with the fields that the driver sends. Any other field of `providerOptions`
 *   replaces the field that the driver sends under this name. The response has `reasoning` only with `{reasoning: {summary: 'auto'}}`.
 * - A refusal is returned as the response's text, with `finishReason: 'refusal'`.
 * - If the response only waits for an approval or a result that toolloop can't provide, `finishReason` is `'error'`; `warnings` names the
 *   tool.
 * - If the response was cut off, `finishReason` is `'length'`; if the content filter stopped it, `'content_filter'`.
 *
 * Throws `invalid_option` for invalid quirks, and `unknown_provider` for a provider without a preset.
 */
export function openaiResponsesModel(settings: ResponsesModelSettings): ChatModel {
  const { provider, model, preset = findPreset(provider) } = settings
  const quirks = responsesQuirks(...presetQuirks(preset, model), settings.quirks)
  const client = openAIClient(settings, preset, askResponses)
  return client.model(new ResponsesApi(provider, model, quirks, settings.providerOptions), capabilitiesOf(settings, quirks))
}
