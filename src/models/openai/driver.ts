import { capabilitiesOf } from '../capabilities.ts'
import type { ChatModel } from '../chat-model.ts'
import { findPreset, type ProviderPreset, presetQuirks } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import { openAIClient } from './client.ts'
import { openAIQuirks } from './quirks.ts'
import { OpenAIApi } from './request.ts'

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
  const client = openAIClient(settings, preset, (sdk, params, options) =>
    sdk.chat.completions.create(params as Parameters<typeof sdk.chat.completions.create>[0], options),
  )
  return client.model(new OpenAIApi(provider, model, quirks, settings.providerOptions), capabilitiesOf(settings, quirks))
}
