import { ModelError, messageOf } from '../../core/errors.ts'
import { capabilitiesOf } from '../capabilities.ts'
import {
  abortedError,
  type ChatModel,
  type ModelCapabilities,
  type ModelRequest,
  type ModelResponse,
  type ModelSink,
} from '../chat-model.ts'
import { findPreset, type ProviderPreset, presetQuirks } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import { connectionError, type ErrorContext, providerError } from '../transport/provider-error.ts'
import { receiveResponse } from '../transport/receive-response.ts'
import { secretsOf, withWarnings } from '../transport/sdk-client.ts'
import { GoogleClient } from './access.ts'
import type { LeanGoogle, Way } from './lean-client.ts'
import { type GoogleQuirks, googleQuirks } from './quirks.ts'
import { GoogleRequests } from './request.ts'
import { GoogleResponse } from './response.ts'

/** How often a response that the provider has paused is gone on with. */
const mostPauses = 16

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
 * Rejects with `missing_dependency` when the package is not installed. Throws `invalid_option` for quirks that are none,
 * `unknown_provider` for a provider without preset.
 */
export function googleModel(settings: GoogleModelSettings): ChatModel {
  return new GoogleModel(settings, settings.preset ?? findPreset(settings.provider))
}

class GoogleModel implements ChatModel {
  readonly provider: string
  readonly model: string
  readonly capabilities: ModelCapabilities
  readonly #settings: ModelSettings
  readonly #requests: GoogleRequests
  readonly #client: GoogleClient

  constructor(settings: ModelSettings, preset: ProviderPreset) {
    const { provider, model } = settings
    this.provider = provider
    this.model = model
    this.#settings = settings
    const quirks: GoogleQuirks = googleQuirks(...presetQuirks(preset, model), settings.quirks)
    this.#client = new GoogleClient(settings, preset, quirks)
    this.#requests = new GoogleRequests(provider, model, quirks, settings.providerOptions)
    this.capabilities = capabilitiesOf(settings, quirks)
  }

  async prepare(): Promise<void> {
    await this.#client.open(this.#client.findAccess())
  }

  async generate(request: ModelRequest, sink?: ModelSink): Promise<ModelResponse> {
    const { signal } = request
    if (signal?.aborted) throw abortedError(this.provider, signal.reason)
    const access = this.#client.findAccess()
    const context: ErrorContext = { provider: this.provider, model: this.model, secrets: secretsOf(access.apiKey, this.#settings.headers) }
    // Before the exchange: the time a package takes to load is no silence of the provider's.
    const client = await this.#client.open(access)
    const stream = request.stream !== false
    let body = this.#requests.build(request)
    const warnings = new Set(body.warnings)
    const response = new GoogleResponse(context, sink, body.names)
    for (let pauses = 0; ; pauses++) {
      const { json } = body
      const send = (inner: AbortSignal) => post(client, json, stream, inner, context)
      for (const oddity of await receiveResponse(response, request, this.#settings, send)) warnings.add(oddity)
      if (!response.isPaused) break
      if (pauses === mostPauses) {
        warnings.add(`The response was paused once more after it was gone on with ${mostPauses} times, and was left unfinished`)
        break
      }
      body = this.#requests.build(request, response.pause())
    }
    return withWarnings(response.finish(), warnings)
  }
}

async function post(client: LeanGoogle, body: string, stream: boolean, signal: AbortSignal, context: ErrorContext): Promise<Response> {
  let way: Way
  try {
    way = await client.findWay(stream)
  } catch (error) {
    throw credentialError(error, context)
  }
  let response: Response
  try {
    signal.throwIfAborted()
    response = await way.send(body, signal)
    if (response.ok) return response
  } catch (error) {
    throw connectionError(error, context)
  }
  const told = await response.text().catch((error: unknown) => messageOf(error))
  throw providerError({ status: response.status, headers: response.headers, body: parsed(told) }, context)
}

/** What the SDK's search for credentials came to. A service that gives out tokens can fail as any other. */
function credentialError(error: unknown, context: ErrorContext): ModelError {
  const { status, code } = typeof error === 'object' && error !== null ? { status: undefined, code: undefined, ...error } : {}
  if (typeof status === 'number' && (status >= 500 || status === 429)) return providerError({ status, body: messageOf(error) }, context)
  if (typeof code === 'string' && /^E(CONN|HOST|NET|NOTFOUND|AI_AGAIN|PIPE|TIMEDOUT)/.test(code)) return connectionError(error, context)
  const { provider, model } = context
  const message = `Expected credentials for \`${provider}/${model}\`, got: ${messageOf(error)}`
  return new ModelError('unauthorized', message, { provider, model, retryable: false, cause: error })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // A page of a proxy, or a plain text.
    return text
  }
}
