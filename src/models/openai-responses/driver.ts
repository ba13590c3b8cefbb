import { capabilitiesOf } from '../capabilities.ts'
import type { ChatModel } from '../chat-model.ts'
import { openAIClient } from '../openai/client.ts'
import { findPreset, type ProviderPreset, presetQuirks } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import { responsesQuirks } from './quirks.ts'
import { ResponsesApi } from './request.ts'

/** `ModelSettings`, and for a provider that is not in `config/providers.yaml`, what would stand there. */
export type ResponsesModelSettings = ModelSettings & { preset?: ProviderPreset }

/**
 * A model behind OpenAI's Responses API, or any server that speaks it, through the `openai` package (imported at the first request).
 * `generate` makes exactly one request; `createModel` adds the retries.
 *
 * Nothing depends on what the server remembers: each request holds the whole conversation and says `store: false`; reasoning comes
 * encrypted, is kept in `providerData`, and goes back to the same provider. So do the items of tools that the provider runs itself
 * (given in `providerOptions.tools`). A custom tool's call has the one argument `input`, its text.
 *
 * - `providerOptions.reasoning` and `.include` are added to what is sent anyway, such as `{reasoning: {summary: 'auto'}}`, without which
 *   there is no `reasoning` in the response; other options replace it.
 * - What a refusal says is the response's text, with `finishReason: 'refusal'`.
 * - A response that has nothing in it but a tool of the provider's own, which waits for an approval or a result that can't be given here:
 *   `finishReason: 'error'`, and `warnings` names it.
 * - A response that was cut, by its limit of tokens or otherwise, has `finishReason: 'length'`; by the content filter, `'content_filter'`.
 *
 * Throws `invalid_option` for invalid quirks, `unknown_provider` for a provider without preset.
 */
export function openaiResponsesModel(settings: ResponsesModelSettings): ChatModel {
  const { provider, model, preset = findPreset(provider) } = settings
  const quirks = responsesQuirks(...presetQuirks(preset, model), settings.quirks)
  const client = openAIClient(settings, preset, (sdk, params, options) =>
    sdk.responses.create(params as Parameters<typeof sdk.responses.create>[0], options),
  )
  return client.model(new ResponsesApi(provider, model, quirks, settings.providerOptions), capabilitiesOf(settings, quirks))
}
