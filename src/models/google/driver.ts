import { capabilitiesOf } from '../capabilities.ts'
import type { ChatModel } from '../chat-model.ts'
import { findPreset, type ProviderPreset, presetQuirks } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import { googleClient } from './client.ts'
import { googleQuirks } from './quirks.ts'
import { GoogleApi } from './request.ts'

/** `ModelSettings`, and the preset of a provider that is not in `config/providers.yaml`. */
export type GoogleModelSettings = ModelSettings & { preset?: ProviderPreset }

/**
 * Creates a model behind Google's `generateContent`, of the Gemini API or of Vertex AI. Uses the `@google/genai` package, an optional peer
 * dependency that is imported at the first request. `createModel` adds the retries.
 *
 * `generate` sends one request, and another each time the provider stops at its own limit for one request (`CONTINUATION`, at most 16
 * times). Thought signatures are kept in `providerData`, on the parts they came with, and are sent back there. Tools that the provider runs
 * are given in `providerOptions.tools`; what they did is kept in the same way and never returned as calls.
 *
 * - `MALFORMED_FUNCTION_CALL`, `UNEXPECTED_TOOL_CALL` and similar: rejects with `bad_response`, which may be retried.
 * - `SAFETY`, `RECITATION` and similar, and a blocked prompt: `finishReason: 'content_filter'`; calls are dropped.
 *
 * Rejects with `missing_dependency` if the package is not installed. Throws `invalid_option` for invalid quirks, and `unknown_provider` for
 * a provider without a preset.
 */
export function googleModel(settings: GoogleModelSettings): ChatModel {
  const { provider, model, preset = findPreset(provider) } = settings
  const quirks = googleQuirks(...presetQuirks(preset, model), settings.quirks)
  const client = googleClient(settings, preset, quirks)
  return client.model(new GoogleApi(provider, model, quirks, settings.providerOptions), capabilitiesOf(settings, quirks))
}
