import { capabilitiesOf } from '../capabilities.ts'
import type { ChatModel } from '../chat-model.ts'
import { findPreset, type ProviderPreset, presetQuirks } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import { anthropicClient } from './client.ts'
import { anthropicQuirks } from './quirks.ts'
import { AnthropicApi } from './request.ts'

/** `ModelSettings`, and for a provider that is not in `config/providers.yaml`, what would stand there. */
export type AnthropicModelSettings = ModelSettings & { preset?: ProviderPreset }

/**
 * A model behind Anthropic's Messages API, or any server that speaks it, through the `@anthropic-ai/sdk` package (imported at the first
 * request). `createModel` adds the retries.
 *
 * `generate` makes one request, and one more each time the provider pauses a turn in the work of its own tools (`pause_turn`, at most 16
 * times): the turn is sent back, what comes next is joined to it, and the usage added up. Tools that the provider runs itself are given
 * in `providerOptions.tools`; their blocks are kept in `providerData` and never given out as calls. So is thinking, with its signature.
 *
 * - `refusal`: what it says is the text, with `finishReason: 'refusal'`; calls beside it are dropped, for they are not to be run.
 * - `model_context_window_exceeded`: `finishReason: 'length'` for a part of an answer; without one, rejects with `context_overflow`.
 * - The parts of the prompt that repeat are marked to be cached; `providerOptions: {promptCaching: false}` or the quirk switches it off.
 *
 * Throws `invalid_option` for invalid quirks, `unknown_provider` for a provider without preset.
 */
export function anthropicModel(settings: AnthropicModelSettings): ChatModel {
  const { provider, model, preset = findPreset(provider) } = settings
  const quirks = anthropicQuirks(...presetQuirks(preset, model), settings.quirks)
  const client = anthropicClient(settings, preset, quirks)
  return client.model(new AnthropicApi(provider, model, quirks, settings.providerOptions), capabilitiesOf(settings, quirks))
}
