import { ModelError } from '../../src/core/errors.ts'
import type { FinishReason } from '../../src/core/events.ts'
import { isJsonObject, type JsonObject, type ToolCall, type Usage } from '../../src/core/messages.ts'
import { abortedError, type ChatModel, type ModelRequest, type ModelResponse, type ModelSink } from '../../src/models/chat-model.ts'
import { messagesToOpenAI } from '../../src/models/openai/wire.ts'

/** The deliberate defects of the driver, which the contract suite must notice. */
export type Defect =
  | 'ignores-index'
  | 'parses-arguments'
  | 'drops-text-beside-calls'
  | 'trusts-finish-reason'
  | 'decodes-chunks-alone'
  | 'knows-only-lf'
  | 'sends-empty-tools'
  | 'sorts-tools'
  | 'forgets-tool-choice'
  | 'drops-failed-results'
  | 'trims-messages'
  | 'ignores-retry-after'
  | 'never-retries'
  | 'retries-everything'
  | 'retries-after-output'
  | 'takes-cut-for-complete'
  | 'takes-error-for-empty'
  | 'loses-partial'
  | 'throws-bare-errors'
  | 'sends-after-abort'
  | 'reports-abort-as-failure'
  | 'leaks-listeners'
  | 'forgets-usage'
  | 'shares-state'

interface Settings {
  baseURL: string
  maxRetries: number
  defect?: Defect
}

/** A small driver for Chat Completions with `fetch`: just enough to keep every promise of the contract, and to break each of them. */
export function fetchModel({ baseURL, maxRetries, defect }: Settings): ChatModel {
  const has = (name: Defect): boolean => defect === name
  let shared = new Reply(has)

  const attempt = async (request: ModelRequest, sink: ModelSink): Promise<ModelResponse> => {
    const stop = new AbortController()
    const onAbort = (): void => stop.abort(request.signal?.reason)
    if (request.signal?.aborted && !has('sends-after-abort')) onAbort()
    request.signal?.addEventListener('abort', onAbort, { once: true })
    const idle = idleTimer(request.streamIdleTimeoutMs ?? 60_000, stop)
    const reply = has('shares-state') ? shared : new Reply(has)
    if (has('shares-state')) queueMicrotask(() => (shared = new Reply(has)))
    try {
      const response = await fetch(`${baseURL}/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(bodyOf(request, has)),
        signal: stop.signal,
      })
      if (!response.ok) throw await statusError(response)
      if (request.stream === false || !response.headers.get('content-type')?.startsWith('text/event-stream')) {
        return reply.fromWhole(await response.text())
      }
      for await (const data of events(response.body ?? new ReadableStream(), has, idle.reset)) {
        reply.take(data, sink)
        if (stop.signal.aborted) throw stop.signal.reason
      }
      return reply.finish()
    } catch (error) {
      if (request.signal?.aborted && !has('reports-abort-as-failure')) throw abortedError('fetch', request.signal.reason)
      throw reply.failure(error, idle.expired())
    } finally {
      idle.clear()
      if (!has('leaks-listeners')) request.signal?.removeEventListener('abort', onAbort)
    }
  }

  const generate = async (request: ModelRequest, sink: ModelSink = {}): Promise<ModelResponse> => {
    if (request.signal?.aborted && !has('sends-after-abort')) throw abortedError('fetch')
    for (let retries = 0; ; retries++) {
      try {
        const response = await attempt(request, sink)
        return retries === 0 ? response : { ...response, retries }
      } catch (error) {
        if (!(error instanceof ModelError) || retries >= (has('never-retries') ? 0 : maxRetries)) throw error
        const shown = error.partial !== undefined && error.partial.text !== ''
        if (!has('retries-everything') && (!error.retryable || (shown && !has('retries-after-output')))) throw error
        await waitBefore(has('ignores-retry-after') ? 1 : (error.retryAfterMs ?? 1), request.signal)
      }
    }
  }
  return { provider: 'fetch', model: 'test-model', capabilities: { nativeTools: true }, generate }
}

function bodyOf(request: ModelRequest, has: (defect: Defect) => boolean): object {
  const { tools = [], toolChoice, messages, providerOptions, stream = true } = request
  const kept = messages.filter((message) => !(has('drops-failed-results') && message.role === 'tool' && message.isError))
  const wire = messagesToOpenAI(
    has('trims-messages') ? kept.map((message) => ({ ...message, content: String(message.content).trim() })) : kept,
  )
  const sent = has('sorts-tools') ? [...tools].sort((a, b) => (a.function.name < b.function.name ? -1 : 1)) : tools
  return {
    model: 'test-model',
    messages: wire,
    ...(sent.length > 0 || has('sends-empty-tools') ? { tools: sent } : {}),
    ...(sent.length > 0 && toolChoice !== undefined && !has('forgets-tool-choice') ? { tool_choice: toolChoice } : {}),
    ...(stream ? { stream, stream_options: { include_usage: true } } : {}),
    ...providerOptions,
  }
}

/** One response as it arrives. */
class Reply {
  readonly #has: (defect: Defect) => boolean
  #text = ''
  #reasoning = ''
  #refused = false
  #finish: string | undefined
  #usage: Usage | undefined
  readonly #calls: ToolCall[] = []

  constructor(has: (defect: Defect) => boolean) {
    this.#has = has
  }

  take(data: string, sink: ModelSink): void {
    if (data === '[DONE]') return
    const payload = parse(data)
    if (isJsonObject(payload.error)) throw providerError(payload.error)
    if (isJsonObject(payload.usage)) this.#usage = usageOf(payload.usage)
    const choice = Array.isArray(payload.choices) ? payload.choices[0] : undefined
    if (!isJsonObject(choice)) return
    if (isJsonObject(choice.delta)) this.#add(choice.delta, sink)
    if (typeof choice.finish_reason === 'string') this.#finish = choice.finish_reason
  }

  fromWhole(text: string): ModelResponse {
    const payload = parse(text)
    if (isJsonObject(payload.error) && !this.#has('takes-error-for-empty')) throw providerError(payload.error)
    if (isJsonObject(payload.usage)) this.#usage = usageOf(payload.usage)
    const choice = Array.isArray(payload.choices) ? payload.choices[0] : undefined
    if (isJsonObject(choice) && isJsonObject(choice.message)) {
      this.#add(choice.message, {})
      this.#finish = String(choice.finish_reason)
    }
    return this.finish()
  }

  #add(delta: JsonObject, sink: ModelSink): void {
    if (typeof delta.reasoning_content === 'string') {
      this.#reasoning += delta.reasoning_content
      sink.reasoning?.(delta.reasoning_content)
    }
    for (const text of [delta.content, delta.refusal]) {
      if (typeof text !== 'string' || text === '') continue
      this.#text += text
      sink.text?.(text)
    }
    this.#refused ||= typeof delta.refusal === 'string'
    for (const [at, piece] of (Array.isArray(delta.tool_calls) ? delta.tool_calls : []).entries()) {
      if (!isJsonObject(piece) || !isJsonObject(piece.function)) continue
      const given = typeof piece.index === 'number' ? piece.index : at
      const index = this.#has('ignores-index') && piece.id === undefined ? this.#calls.length - 1 : given
      if (this.#calls[index] === undefined) {
        const started: ToolCall = {
          id: String(piece.id ?? ''),
          type: 'function',
          function: { name: String(piece.function.name), arguments: '' },
        }
        this.#calls[index] = started
        sink.toolCallStart?.(index, started.id, started.function.name)
      }
      const json = String(piece.function.arguments ?? '')
      const call = this.#calls[index]
      if (call !== undefined) call.function.arguments += json
      if (json !== '') sink.toolCallDelta?.(index, json)
    }
  }

  finish(): ModelResponse {
    if (this.#finish === undefined && !this.#has('takes-cut-for-complete') && !this.#has('takes-error-for-empty')) {
      throw new ModelError('stream_cut', 'The stream ended early', { provider: 'fetch', retryable: true })
    }
    const word = this.#refused ? 'refusal' : ((this.#finish ?? 'stop') as FinishReason)
    const called = this.#calls.length > 0 && word === 'stop' && !this.#has('trusts-finish-reason')
    if (this.#has('parses-arguments')) {
      for (const call of this.#calls) call.function.arguments = JSON.stringify(JSON.parse(call.function.arguments))
    }
    return {
      text: this.#has('drops-text-beside-calls') && this.#calls.length > 0 ? '' : this.#text,
      toolCalls: this.#calls,
      finishReason: called ? 'tool_calls' : word,
      ...(this.#reasoning === '' ? {} : { reasoning: this.#reasoning }),
      ...(this.#usage === undefined || this.#has('forgets-usage') ? {} : { usage: this.#usage }),
    }
  }

  /** Converts what was thrown as the contract requires, with what had arrived. */
  failure(thrown: unknown, idle: boolean): unknown {
    if (this.#has('throws-bare-errors')) return thrown
    const partial = this.#text === '' || this.#has('loses-partial') ? {} : { partial: { text: this.#text } }
    if (idle) return new ModelError('stream_idle', 'Nothing came for too long', { provider: 'fetch', retryable: true, ...partial })
    if (thrown instanceof ModelError) {
      const { provider, retryable, status, retryAfterMs } = thrown
      const known = { ...(status === undefined ? {} : { status }), ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
      return new ModelError(thrown.code, thrown.message, { provider, retryable, ...known, ...partial })
    }
    const code = this.#text === '' ? 'connection_failed' : 'stream_cut'
    return new ModelError(code, String(thrown), { provider: 'fetch', retryable: true, cause: thrown, ...partial })
  }
}

function usageOf(usage: JsonObject): Usage {
  const count = (details: unknown, key: string): number => (isJsonObject(details) ? Number(details[key] ?? 0) : 0)
  return {
    inputTokens: count(usage, 'prompt_tokens'),
    outputTokens: count(usage, 'completion_tokens'),
    totalTokens: count(usage, 'total_tokens'),
    reasoningTokens: count(usage.completion_tokens_details, 'reasoning_tokens'),
    cacheReadTokens: count(usage.prompt_tokens_details, 'cached_tokens'),
  }
}

async function statusError(response: Response): Promise<ModelError> {
  const { status } = response
  const text = await response.text()
  const retryAfter = response.headers.get('retry-after')
  const overflow = text.includes('context_length_exceeded')
  const code = overflow ? 'context_overflow' : status === 401 ? 'unauthorized' : status === 429 ? 'rate_limited' : 'provider_error'
  const retryable = [408, 409, 429].includes(status) || status >= 500
  const wait = retryAfter === null ? {} : { retryAfterMs: Number(retryAfter) * 1000 }
  return new ModelError(code, `HTTP ${status}`, { provider: 'fetch', status, retryable, ...wait })
}

function providerError(error: JsonObject): ModelError {
  return new ModelError('provider_error', String(error.message), { provider: 'fetch', retryable: true })
}

function parse(text: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new ModelError('bad_response', 'Not JSON', { provider: 'fetch', retryable: true, cause })
  }
  if (isJsonObject(value)) return value
  throw new ModelError('bad_response', 'Not an object', { provider: 'fetch', retryable: true })
}

/** The data of server-sent events, with any line ends. */
async function* events(body: ReadableStream<Uint8Array>, has: (defect: Defect) => boolean, onChunk: () => void): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  let data: string[] = []
  for await (const chunk of body) {
    onChunk()
    rest += has('decodes-chunks-alone') ? Buffer.from(chunk).toString('utf8') : decoder.decode(chunk, { stream: true })
    for (;;) {
      // A CR at the very end may be half of a CRLF, so it waits for the next chunk.
      const end = (has('knows-only-lf') ? /\n/ : /\r\n|\n|\r(?!$)/).exec(rest)
      if (end === null) break
      const line = rest.slice(0, end.index)
      rest = rest.slice(end.index + end[0].length)
      if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5))
      else if (line === '' && data.length > 0) {
        yield data.join('\n')
        data = []
      }
    }
  }
  if (rest.startsWith('data:')) data.push(rest.slice(rest[5] === ' ' ? 6 : 5).trimEnd())
  if (data.length > 0) yield data.join('\n')
}

function idleTimer(milliseconds: number, stop: AbortController): { reset: () => void; clear: () => void; expired: () => boolean } {
  let expired = false
  const expire = (): void => {
    expired = true
    stop.abort(new Error('idle'))
  }
  let timer = setTimeout(expire, milliseconds)
  const clear = (): void => clearTimeout(timer)
  const reset = (): void => {
    clear()
    timer = setTimeout(expire, milliseconds)
  }
  return { reset, clear, expired: () => expired }
}

async function waitBefore(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  const done = Promise.withResolvers<void>()
  const timer = setTimeout(done.resolve, milliseconds)
  const abort = (): void => done.reject(abortedError('fetch'))
  signal?.addEventListener('abort', abort, { once: true })
  try {
    await done.promise
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}
