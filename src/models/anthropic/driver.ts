import { capabilitiesOf } from '../capabilities.ts'
import type { ChatModel, ModelRequest, ModelResponse, ModelSink } from '../chat-model.ts'
import { findPreset, type ProviderPreset, presetQuirks } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import { withWarnings } from '../transport/sdk-client.ts'
import { anthropicClient, hasCredentials } from './client.ts'
import { anthropicQuirks } from './quirks.ts'
import { AnthropicRequests } from './request.ts'
import { AnthropicResponse } from './response.ts'

/** How often a turn that the provider has paused is continued. Each time it has done up to ten steps of its own. */
const maxPauses = 16

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
  const client = anthropicClient(settings, preset, quirks.apiVersion)
  const requests = new AnthropicRequests(provider, model, quirks, settings.providerOptions)
  let warnedOf: string | undefined
  /** Once for each key. */
  const keyWarnings = (apiKey: string): string[] => {
    const prefix = quirks.keyPrefix
    if (prefix === null || apiKey === warnedOf || apiKey.startsWith(prefix) || hasCredentials(settings)) return []
    warnedOf = apiKey
    return [`Expected the API key of \`${provider}\` to begin with \`${prefix}\`; it was sent as it is`]
  }
  return {
    provider,
    model,
    capabilities: capabilitiesOf(settings, quirks),
    prepare: () => client.prepare(),
    async generate(request: ModelRequest, sink?: ModelSink): Promise<ModelResponse> {
      const { access, context, send } = client.start(request)
      const response = new AnthropicResponse(context, sink)
      const warnings = new Set(keyWarnings(access.apiKey))
      let { messages } = request
      for (let pauses = 0; ; pauses++) {
        const body = requests.build({ ...request, messages }, access.baseURL)
        const oddities = await send(body.json, response)
        for (const warning of [...body.warnings, ...oddities]) warnings.add(warning)
        if (!response.isPaused) break
        if (pauses === maxPauses) {
          warnings.add(`The turn was paused again after being continued ${maxPauses} times, and was left unfinished`)
          break
        }
        messages = [...request.messages, response.pause()]
      }
      return withWarnings(response.finish(), warnings)
    },
  }
}
