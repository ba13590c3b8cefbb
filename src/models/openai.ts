import type { ClientOptions, OpenAI } from 'openai'
import type { ModelError } from '../errors.ts'
import { exchange } from './exchange.ts'
import { leanOpenAI } from './lean-openai.ts'
import { abortedError, type ChatModel, type ModelCapabilities, type ModelRequest, type ModelResponse, type ModelSink } from './model.ts'
import { openAIQuirks } from './openai-quirks.ts'
import { type OpenAIRequest, OpenAIRequests } from './openai-request.ts'
import { OpenAIResponse } from './openai-response.ts'
import { connectionError, type ErrorContext, providerError, responseError } from './provider-error.ts'
import { findAPIKey, findBaseURL, findPreset, type ProviderPreset, presetQuirks } from './providers.ts'
import { ResponseBody } from './response-body.ts'
import type { ModelSettings } from './settings.ts'

/** Longest silence by default, in milliseconds. A whole response is silent until it is written. */
const defaultIdleMs = 60_000
const defaultWholeMs = 600_000
/** The SDK's own timeout is out of the way: it does not cover a stream's body, ours does. */
const noTimeoutMs = 2 ** 31 - 1

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
  #client: { apiKey: string; baseURL: string; sdk: OpenAI } | undefined

  constructor(settings: ModelSettings, preset: ProviderPreset) {
    const { provider, model, functionCalling, contextWindow, price } = settings
    const quirks = openAIQuirks(...presetQuirks(preset, model), settings.quirks)
    this.provider = provider
    this.model = model
    this.#settings = settings
    this.#preset = preset
    this.#requests = new OpenAIRequests(provider, model, quirks, settings.providerOptions)
    this.capabilities = {
      nativeTools: functionCalling ?? true,
      ...(contextWindow === undefined ? {} : { contextWindow }),
      ...(price === undefined ? {} : { price }),
      ...(quirks.reportsCost ? { reportsCost: true } : {}),
    }
  }

  async generate(request: ModelRequest, sink?: ModelSink): Promise<ModelResponse> {
    const { signal } = request
    if (signal?.aborted) throw abortedError(this.provider, signal.reason)
    const apiKey = findAPIKey(this.#settings, this.#preset)
    const baseURL = findBaseURL(this.#settings, this.#preset)
    const body = this.#requests.build(request)
    const context: ErrorContext = { provider: this.provider, model: this.model, secrets: secretsOf(apiKey, this.#settings.headers) }
    const response = new OpenAIResponse(context, sink, this.capabilities.reportsCost ?? false)
    const reader = new ResponseBody(response)
    const idleMs =
      request.streamIdleTimeoutMs ?? this.#settings.streamIdleTimeoutMs ?? (request.stream === false ? defaultWholeMs : defaultIdleMs)
    const end = await exchange({
      provider: this.provider,
      signal,
      idleMs,
      send: async (inner) => this.#send(await this.#connect(apiKey, baseURL), body, inner, context),
      read: (bytes) => reader.push(bytes),
    })
    if (end.how === 'whole') reader.end()
    if (!response.hasFinished) throw unfinished(end, response.context())
    const result = response.finish()
    if (end.how !== 'whole') body.warnings.push('The connection did not end properly after the response was complete')
    const warnings = [...body.warnings, ...(result.warnings ?? [])]
    return warnings.length === 0 ? result : { ...result, warnings }
  }

  async #send(sdk: OpenAI, { params, json }: OpenAIRequest, signal: AbortSignal, context: ErrorContext): Promise<Response> {
    try {
      return await sdk.chat.completions.create(params, { signal, body: json, headers: { 'Content-Type': 'application/json' } }).asResponse()
    } catch (error) {
      throw errorOf(error, context)
    }
  }

  /** The client, made anew when key or address have changed, so that either may come or be replaced later through the environment. */
  async #connect(apiKey: string, baseURL: string): Promise<OpenAI> {
    if (this.#client?.apiKey === apiKey && this.#client.baseURL === baseURL) return this.#client.sdk
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
        ...(sdkEnvironment ? {} : withoutEnvironmentHeaders(apiKey)),
        'X-Stainless-Timeout': null,
        ...(apiKeyHeader === undefined ? {} : { [apiKeyHeader]: apiKey, Authorization: null }),
        ...headers,
      },
    }
    const sdk = leanOpenAI(OpenAI, options, fetch)
    this.#client = { apiKey, baseURL, sdk }
    return sdk
  }
}

/** What an error's message must not quote. A short "key", as local servers have, would black out words. */
function secretsOf(apiKey: string, headers: Record<string, string> = {}): string[] {
  const secretHeaders = Object.entries(headers).filter(([name]) => /auth|key|token|secret|cookie/i.test(name))
  return [apiKey, ...secretHeaders.map(([, value]) => value)].filter((secret) => secret.length >= 8)
}

/** Undoes the headers which the SDK adds to requests to anybody when the environment has `OPENAI_CUSTOM_HEADERS`. */
function withoutEnvironmentHeaders(apiKey: string): Record<string, string | null> {
  const lines = (process.env.OPENAI_CUSTOM_HEADERS ?? '').split('\n').filter((line) => line.includes(':'))
  const names = lines.map((line) => line.slice(0, line.indexOf(':')).trim().toLowerCase())
  return Object.fromEntries(names.map((name) => [name, name === 'authorization' ? `Bearer ${apiKey}` : null]))
}

/** What the SDK rejects with, by its fields: an answer has a status, anything else never came that far. */
function errorOf(error: unknown, context: ErrorContext): ModelError {
  if (typeof error === 'object' && error !== null && 'status' in error && typeof error.status === 'number') {
    const headers = 'headers' in error && hasGet(error.headers) ? { headers: error.headers } : {}
    const told =
      'error' in error && error.error !== undefined ? error.error : error instanceof Error ? error.message.replace(/^\d{3} /, '') : ''
    return providerError({ status: error.status, body: told, ...headers }, context)
  }
  return connectionError(error, context)
}

function hasGet(headers: unknown): headers is Pick<Headers, 'get'> {
  return typeof headers === 'object' && headers !== null && 'get' in headers && typeof headers.get === 'function'
}

function unfinished(end: Awaited<ReturnType<typeof exchange>>, context: ErrorContext): ModelError {
  const expected = 'the rest of a response'
  const before = context.partial === undefined ? 'before anything came' : 'after a part of it'
  switch (end.how) {
    case 'silent':
      return responseError('stream_idle', expected, `nothing for ${end.idleMs} ms, ${before}`, context, { retryable: true })
    case 'broken':
      return responseError('stream_cut', expected, `a broken connection ${before}`, context, { retryable: true, cause: end.cause })
    case 'whole':
      return responseError('stream_cut', expected, `its end without a finish reason, ${before}`, context, { retryable: true })
  }
}
