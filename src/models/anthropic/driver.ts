import { capabilitiesOf } from '../capabilities.ts'
import type { ChatModel } from '../chat-model.ts'
import { findPreset, type ProviderPreset, presetQuirks } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import { anthropicClient } from './client.ts'
import { anthropicQuirks } from './quirks.ts'
import { AnthropicApi } from './request.ts'

/** `ModelSettings`, and the preset of a provider that is not in `config/providers.yaml`. */
export type AnthropicModelSettings = ModelSettings & { preset?: ProviderPreset }

/**
 * Creates a model behind Anthropic's Messages API, or any server that speaks it. Uses the `@anthropic-ai/sdk` package, which is imported at
 * the first request. `createModel` adds the retries.
 *
 * `generate` sends one request, and another each time the provider pauses a turn while its own tools work (`pause_turn`, at most 16 times):
 * the turn is sent back, the next response is appended to it, and the usage is added up. Tools that the provider runs are given in
 * `providerOptions.tools`. Their blocks are kept in `providerData` and never returned as calls. Thinking is kept there too, with its
 * signature.
 *
 * - `refusal`: the model's words are the text, with `finishReason: 'refusal'`. Calls beside it are dropped, because they must not run.
 * - `model_context_window_exceeded`: returns `finishReason: 'length'` with a partial answer; rejects with `context_overflow` without one.
 * - The repeated parts of the prompt are marked for caching. `providerOptions: {promptCaching: false}` or the quirk turns that off.
 *
 * Throws `invalid_option` for invalid quirks, and `unknown_provider` for a provider without a preset.
 */
export function anthropicModel(settings: AnthropicModelSettings): ChatModel {
  const { provider, model, preset = findPreset(provider) } = settings
  const quirks = anthropicQuirks(...presetQuirks(preset, model), settings.quirks)
  const client = anthropicClient(settings, preset, quirks)
  return client.model(new AnthropicApi(provider, model, quirks, settings.providerOptions), capabilitiesOf(settings, quirks))
}
