import type { Anthropic, ClientOptions } from '@anthropic-ai/sdk'
import { capabilitiesOf } from '../capabilities.ts'
import type { ChatModel, ModelCapabilities, ModelRequest, ModelResponse, ModelSink } from '../chat-model.ts'
import { findPreset, type ProviderPreset, presetQuirks } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import type { ErrorContext } from '../transport/provider-error.ts'
import { receiveResponse } from '../transport/receive-response.ts'
import { type Access, noTimeoutMs, SdkClient, sdkError, withoutEnvironmentHeaders, withWarnings } from '../transport/sdk-client.ts'
import { leanAnthropic } from './lean-client.ts'
import { type AnthropicQuirks, anthropicQuirks } from './quirks.ts'
import { AnthropicRequests } from './request.ts'
import { AnthropicResponse } from './response.ts'

/** How often a turn that the provider has paused is sent back to be gone on with. Each time it has done up to ten steps of its own. */
const mostPauses = 16

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
 * Throws `invalid_option` for quirks that are none, `unknown_provider` for a provider without preset.
 */
export function anthropicModel(settings: AnthropicModelSettings): ChatModel {
  return new AnthropicModel(settings, settings.preset ?? findPreset(settings.provider))
}

class AnthropicModel implements ChatModel {
  readonly provider: string
  readonly model: string
  readonly capabilities: ModelCapabilities
  readonly #settings: ModelSettings
  readonly #preset: ProviderPreset
  readonly #quirks: AnthropicQuirks
  readonly #requests: AnthropicRequests
  readonly #client: SdkClient<Anthropic>
  #warnedOf: string | undefined

  constructor(settings: ModelSettings, preset: ProviderPreset) {
    const { provider, model } = settings
    this.provider = provider
    this.model = model
    this.#settings = settings
    this.#preset = hasCredentials(settings) ? { ...preset, apiKeyOptional: true } : preset
    this.#quirks = anthropicQuirks(...presetQuirks(preset, model), settings.quirks)
    this.#client = new SdkClient(settings, this.#preset, (access) => this.#open(access))
    this.#requests = new AnthropicRequests(provider, model, this.#quirks, settings.providerOptions)
    this.capabilities = capabilitiesOf(settings, this.#quirks)
  }

  prepare(): Promise<void> {
    return this.#client.prepare()
  }

  async generate(request: ModelRequest, sink?: ModelSink): Promise<ModelResponse> {
    const { access, context, open } = this.#client.start(request.signal)
    const response = new AnthropicResponse(context, sink)
    const warnings = new Set(this.#keyWarnings(access.apiKey))
    let { messages } = request
    for (let pauses = 0; ; pauses++) {
      const body = this.#requests.build({ ...request, messages })
      const send = async (inner: AbortSignal) => this.#send(await open(), body.json, request.stream !== false, inner, context)
      const oddities = await receiveResponse(response, request, this.#settings, send)
      for (const warning of [...body.warnings, ...oddities]) warnings.add(warning)
      if (!response.isPaused) break
      if (pauses === mostPauses) {
        warnings.add(`The turn was paused once more after it was gone on with ${mostPauses} times, and was left unfinished`)
        break
      }
      messages = [...request.messages, response.pause()]
    }
    return withWarnings(response.finish(), warnings)
  }

  async #send(sdk: Anthropic, body: string, stream: boolean, signal: AbortSignal, context: ErrorContext): Promise<Response> {
    try {
      // The body is ours. In its own parameters the SDK looks for what it warns of on the console, and for its own tools' marks.
      const params = { model: '', max_tokens: 1, messages: [], stream }
      return await sdk.messages.create(params, { signal, body, headers: { 'Content-Type': 'application/json' } }).asResponse()
    } catch (error) {
      throw sdkError(error, context)
    }
  }

  async #open({ apiKey, baseURL }: Access): Promise<Anthropic> {
    const { Anthropic } = await import('@anthropic-ai/sdk')
    const { headers, fetch } = this.#settings
    const { apiKeyHeader, sdkEnvironment } = this.#preset
    const version = this.#quirks.apiVersion
    const options: ClientOptions = {
      apiKey,
      // The SDK appends `/v1/messages`; addresses are also written with what it appends.
      baseURL: baseURL.replace(/\/(v1\/?)?$/, ''),
      webhookKey: null,
      maxRetries: 0,
      timeout: noTimeoutMs,
      logLevel: 'off',
      openTelemetry: false,
      defaultHeaders: {
        ...(sdkEnvironment ? {} : withoutEnvironmentHeaders('ANTHROPIC_CUSTOM_HEADERS', apiKey)),
        'X-Stainless-Timeout': null,
        ...(version === null ? {} : { 'anthropic-version': version }),
        ...(hasCredentials(this.#settings) ? { Authorization: null } : {}),
        ...(apiKeyHeader === undefined ? {} : { [apiKeyHeader]: apiKey, Authorization: null }),
        ...headers,
      },
    }
    return leanAnthropic(Anthropic, options, fetch)
  }

  /** Once for each key. */
  #keyWarnings(apiKey: string): string[] {
    const prefix = this.#quirks.keyPrefix
    if (prefix === null || apiKey === this.#warnedOf || apiKey.startsWith(prefix) || hasCredentials(this.#settings)) return []
    this.#warnedOf = apiKey
    return [`Expected the API key of \`${this.provider}\` to begin with \`${prefix}\`; it was sent as it is`]
  }
}

/** Compatible servers may be given their key as one of the headers. */
function hasCredentials({ headers }: ModelSettings): boolean {
  return Object.keys(headers ?? {}).some((name) => ['x-api-key', 'authorization'].includes(name.toLowerCase()))
}
