import { capabilitiesOf } from '../capabilities.ts'
import type { ChatModel } from '../chat-model.ts'
import { findPreset, type ProviderPreset, presetQuirks } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import { openAIClient } from './client.ts'
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
  const client = openAIClient(settings, preset, 'completions')
  return client.model(new OpenAIApi(provider, model, quirks, settings.providerOptions), capabilitiesOf(settings, quirks))
}
