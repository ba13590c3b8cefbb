/** `toolloop/models/openai`: the driver for OpenAI's Chat Completions API. */
import { capabilitiesOf } from '../capabilities.ts'
import type { ChatModel } from '../chat-model.ts'
import { findPreset, type ProviderPreset, presetQuirks } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import { openAIClient } from './client.ts'
import { openAIQuirks } from './quirks.ts'
import { askCompletions, OpenAIApi } from './request.ts'

/** `ModelSettings`, and optionally the preset of a provider that is not in `config/providers.yaml`. */
export type OpenAIModelSettings = ModelSettings & { preset?: ProviderPreset }

/**
 * Creates a model that uses the Chat Completions API, on OpenAI's server or any compatible server. Uses the `openai` package, which is
 * imported at the first request. `generate` sends exactly one request; `createModel` adds the retries.
 *
 * A refusal is returned as the response's text, with `finishReason: 'refusal'`. Reasoning is returned as `reasoning` and kept in
 * `providerData`.
 *
 * Throws `invalid_option` for invalid quirks, and `unknown_provider` for a provider without a preset.
 */
export function openaiModel(settings: OpenAIModelSettings): ChatModel {
  const { provider, model, preset = findPreset(provider) } = settings
  const quirks = openAIQuirks(...presetQuirks(preset, model), settings.quirks)
  const client = openAIClient(settings, preset, askCompletions)
  return client.model(new OpenAIApi(provider, model, quirks, settings.providerOptions), capabilitiesOf(settings, quirks))
}
