import { capabilitiesOf } from '../capabilities.ts'
import type { ChatModel } from '../chat-model.ts'
import { findPreset, type ProviderPreset, presetQuirks } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import { googleClient } from './client.ts'
import { googleQuirks } from './quirks.ts'
import { GoogleApi } from './request.ts'

/** `ModelSettings`, and for a provider that is not in `config/providers.yaml`, what would stand there. */
export type GoogleModelSettings = ModelSettings & { preset?: ProviderPreset }

/**
 * A model behind Google's `generateContent`, of the Gemini API or of Vertex AI, through the `@google/genai` package (an optional peer
 * dependency, imported at the first request). `createModel` adds the retries.
 *
 * `generate` makes one request, and one more each time the provider stops at a limit of its own for one request (`CONTINUATION`, at most
 * 16 times). Thought signatures are kept in `providerData`, on the parts they came with, and go back there; tools that the provider runs
 * itself are given in `providerOptions.tools`, and what they did is kept in the same way, never given out as calls.
 *
 * - `MALFORMED_FUNCTION_CALL`, `UNEXPECTED_TOOL_CALL` and the like: rejects with `bad_response`, which may be tried again.
 * - `SAFETY`, `RECITATION` and the like, and a prompt that was blocked: `finishReason: 'content_filter'`; calls are dropped.
 *
 * Rejects with `missing_dependency` when the package is not installed. Throws `invalid_option` for invalid quirks,
 * `unknown_provider` for a provider without preset.
 */
export function googleModel(settings: GoogleModelSettings): ChatModel {
  const { provider, model, preset = findPreset(provider) } = settings
  const quirks = googleQuirks(...presetQuirks(preset, model), settings.quirks)
  const client = googleClient(settings, preset, quirks)
  return client.model(new GoogleApi(provider, model, quirks, settings.providerOptions), capabilitiesOf(settings, quirks))
}
