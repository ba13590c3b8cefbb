import { capabilitiesOf } from '../capabilities.ts'
import type { ChatModel } from '../chat-model.ts'
import { openAIClient } from '../openai/client.ts'
import { findPreset, type ProviderPreset, presetQuirks } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import { responsesQuirks } from './quirks.ts'
import { ResponsesApi } from './request.ts'

/** `ModelSettings`, and the preset of a provider that is not in `config/providers.yaml`. */
export type ResponsesModelSettings = ModelSettings & { preset?: ProviderPreset }

/**
 * Creates a model behind OpenAI's Responses API, or any server that speaks it. Uses the `openai` package, which is imported at the first
 * request. `generate` sends exactly one request; `createModel` adds the retries.
 *
 * The server stores nothing: each request contains the whole conversation and says `store: false`. Reasoning arrives encrypted, is kept in
 * `providerData`, and is sent back to the same provider. So are the items of tools that the provider runs, which are given in
 * `providerOptions.tools`. A custom tool's call has one argument, `input`, with its text.
 *
 * - `providerOptions.reasoning` and `.include` are merged with what is sent anyway; other options replace it. Without `{reasoning:
 *   {summary: 'auto'}}`, the response has no `reasoning`.
 * - A refusal's words are the response's text, with `finishReason: 'refusal'`.
 * - A response that only contains a provider's tool that waits for an approval or a result has `finishReason: 'error'`; `warnings` names
 *   the tool.
 * - A response that was cut off by its token limit or otherwise has `finishReason: 'length'`; if the content filter stopped it,
 *   `'content_filter'`.
 *
 * Throws `invalid_option` for invalid quirks, and `unknown_provider` for a provider without a preset.
 */
export function openaiResponsesModel(settings: ResponsesModelSettings): ChatModel {
  const { provider, model, preset = findPreset(provider) } = settings
  const quirks = responsesQuirks(...presetQuirks(preset, model), settings.quirks)
  const client = openAIClient(settings, preset, 'responses')
  return client.model(new ResponsesApi(provider, model, quirks, settings.providerOptions), capabilitiesOf(settings, quirks))
}
