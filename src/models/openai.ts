import type { ClientOptions, OpenAI } from 'openai'
import { capabilitiesOf } from './capabilities.ts'
import { leanOpenAI } from './lean-openai.ts'
import { abortedError, type ChatModel, type ModelCapabilities, type ModelRequest, type ModelResponse, type ModelSink } from './model.ts'
import { openAIQuirks } from './openai-quirks.ts'
import { type OpenAIRequest, OpenAIRequests } from './openai-request.ts'
import { OpenAIResponse } from './openai-response.ts'
import type { ErrorContext } from './provider-error.ts'
import { findPreset, type ProviderPreset, presetQuirks } from './providers.ts'
import { receiveResponse } from './receive-response.ts'
import { type Access, noTimeoutMs, SdkClient, sdkError, secretsOf, withoutEnvironmentHeaders } from './sdk-client.ts'
import type { ModelSettings } from './settings.ts'

/** `ModelSettings`, and for a provider that is not in `config/providers.yaml`, what would stand there. */
export type OpenAIModelSettings = ModelSettings & { preset?: ProviderPreset }

/**
 * A model behind OpenAI's Chat Completions API, or any server that speaks it, through the `openai` package (imported at the first
 * request). `generate` makes exactly one request; `createModel` adds the retries.
 *
 * What a refusal says is the response's text, with `finishReason: 'refusal'`. Reasoning is given out as `reasoning` and kept in
 * `providerData`. Throws `invalid_option` for quirks that are none, `unknown_provider` for a provider without preset.
 */
export function openaiModel(settings: OpenAIModelSettings): ChatModel {
  return new OpenAIModel(settings, settings.preset ?? findPreset(settings.provider))
}

class OpenAIModel implements ChatModel {
  readonly provider: string
  readonly model: string
  readonly capabilities: ModelCapabilities
  readonly #settings: ModelSettings
  readonly #preset: ProviderPreset
  readonly #requests: OpenAIRequests
  readonly #client: SdkClient<OpenAI>

  constructor(settings: ModelSettings, preset: ProviderPreset) {
    const { provider, model } = settings
    const quirks = openAIQuirks(...presetQuirks(preset, model), settings.quirks)
    this.provider = provider
    this.model = model
    this.#settings = settings
    this.#preset = preset
    this.#client = new SdkClient(settings, preset, (access) => this.#open(access))
    this.#requests = new OpenAIRequests(provider, model, quirks, settings.providerOptions)
    this.capabilities = {
      ...capabilitiesOf(settings, quirks),
      ...(quirks.reportsCost ? { reportsCost: true } : {}),
    }
  }

  async generate(request: ModelRequest, sink?: ModelSink): Promise<ModelResponse> {
    const { signal } = request
    if (signal?.aborted) throw abortedError(this.provider, signal.reason)
    const access = this.#client.findAccess()
    const body = this.#requests.build(request)
    const context: ErrorContext = { provider: this.provider, model: this.model, secrets: secretsOf(access.apiKey, this.#settings.headers) }
    const response = new OpenAIResponse(context, sink, this.capabilities.reportsCost ?? false)
    const oddities = await receiveResponse(response, request, this.#settings, async (inner) =>
      this.#send(await this.#client.open(access), body, inner, context),
    )
    const result = response.finish()
    const warnings = [...body.warnings, ...oddities, ...(result.warnings ?? [])]
    return warnings.length === 0 ? result : { ...result, warnings }
  }

  async #send(sdk: OpenAI, { params, json }: OpenAIRequest, signal: AbortSignal, context: ErrorContext): Promise<Response> {
    try {
      return await sdk.chat.completions.create(params, { signal, body: json, headers: { 'Content-Type': 'application/json' } }).asResponse()
    } catch (error) {
      throw sdkError(error, context)
    }
  }

  async #open({ apiKey, baseURL }: Access): Promise<OpenAI> {
    const { OpenAI } = await import('openai')
    const { headers, fetch } = this.#settings
    const { apiKeyHeader, sdkEnvironment } = this.#preset
    const options: ClientOptions = {
      apiKey,
      baseURL,
      adminAPIKey: null,
      maxRetries: 0,
      timeout: noTimeoutMs,
      logLevel: 'off',
      // What the environment says of OpenAI's own account is nobody else's business.
      ...(sdkEnvironment ? {} : { organization: null, project: null }),
      defaultHeaders: {
        ...(sdkEnvironment ? {} : withoutEnvironmentHeaders('OPENAI_CUSTOM_HEADERS', apiKey)),
        'X-Stainless-Timeout': null,
        ...(apiKeyHeader === undefined ? {} : { [apiKeyHeader]: apiKey, Authorization: null }),
        ...headers,
      },
    }
    return leanOpenAI(OpenAI, options, fetch)
  }
}
