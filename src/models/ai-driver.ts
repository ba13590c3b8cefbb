import { checkOptionNames, type OptionNames } from '../core/check-options.ts'
import { InvalidOptionError } from '../core/errors.ts'
import { type MessageInput, toChatMessages } from '../core/message-input.ts'
import { type FinishReason, type JsonObject, type ProviderData, type ToolCall, type Usage, withoutUndefined } from '../core/messages.ts'
import { type AnyTool, checkedDefinitions, type ToolDefinition } from '../tools/tool.ts'
import {
  abortedError,
  type ChatModel,
  type ModelRequest,
  type ModelResponse,
  type ModelSink,
  type Sampling,
  samplingNames,
  type ToolChoice,
} from './chat-model.ts'
import { type AnyModel, openModel } from './create-model.ts'

/** The options of a query of an `AIDriver`. */
export interface QueryOptions extends Sampling {
  /** Tools or tool definitions. If a tool is given, only its definition is used. */
  tools?: readonly (ToolDefinition | AnyTool)[]
  /** Default: `'auto'`. */
  toolChoice?: ToolChoice
  /** Messages that are appended after the prompt's own messages, such as the calls and results of an earlier query. */
  messages?: readonly MessageInput[]
  parallelToolCalls?: boolean
  signal?: AbortSignal
  /** Maximum time without any data from the provider, in milliseconds. */
  streamIdleTimeoutMs?: number
  /** Maximum time without an event of the stream, in milliseconds, once the response has started. */
  streamStallTimeoutMs?: number
  /** Fields that are added to the provider's request body unchanged. */
  providerOptions?: JsonObject
}

const queryOptionNames: OptionNames<QueryOptions> = {
  ...samplingNames,
  tools: true,
  toolChoice: true,
  messages: true,
  parallelToolCalls: true,
  signal: true,
  streamIdleTimeoutMs: true,
  streamStallTimeoutMs: true,
  providerOptions: true,
}

/** The result of a query of an `AIDriver`. */
export interface QueryResult {
  content: string
  /** The calls of the response, each with a unique id. Undefined if the response has no calls. */
  toolCalls?: ToolCall[]
  finishReason?: 'stop' | 'length' | 'error' | 'tool_calls'
  /**
   * Why the provider or the model stopped the response. `'content_filter'`: the provider's filter stopped it, and `finishReason` is
   * `'error'`. `'refusal'`: the model declined to answer, `finishReason` is `'stop'`, and the content is the model's explanation.
   */
  stoppedBy?: 'content_filter' | 'refusal'
  usage?: Usage
  /**
   * Settings that were left out, parts of messages that were replaced, and irregularities of the response that were corrected. Undefined
   * if there are no warnings.
   */
  warnings?: string[]
  /**
   * Provider-specific data. Store it with the assistant message that you create from this result, because some providers require it in
   * later requests.
   */
  providerData?: ProviderData
}

/** A streamed query of an `AIDriver`: its text and its result. */
export interface StreamResult {
  /**
   * The text, piece by piece. If the request fails, iteration throws the same error that `result` rejects with. Leaving the loop early
   * aborts the request. Reading the stream is optional.
   */
  stream: AsyncIterable<string>
  /** The complete result, including calls. The promise may be ignored: if it rejects, no unhandled rejection is reported. */
  result: Promise<QueryResult>
}

const finishReasons: Record<FinishReason, NonNullable<QueryResult['finishReason']>> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool_calls',
  content_filter: 'error',
  refusal: 'stop',
  error: 'error',
}

/**
 * Sends single requests. `query` returns the complete response; `stream` returns its pieces. The model is offered tools and may answer with
 * calls. The caller runs the calls, and passes them with their results as `messages` of the next query.
 *
 * ```ts
 * const driver = new AIDriver('openai/gpt-6.1-sol')
 * const { toolCalls } = await driver.query('What is the weather in Tokyo?', { tools })
 * ```
 */
export class AIDriver {
  readonly model: ChatModel

  /** Accepts a model, or the argument of `createModel`. Throws the errors of `createModel`. */
  constructor(model: AnyModel) {
    this.model = openModel(model)
  }

  /**
   * Sends one request. Rejects with a `ModelError` if the request fails. The error's code is `aborted` if the signal is aborted. Also
   * rejects with `invalid_message` for an invalid message, and with `invalid_tool` for an invalid or repeated tool name. Rejects with
   * `invalid_option` if tools are passed to a model without native calls (use `ToolAgent` for such models).
   */
  async query(prompt: string | readonly MessageInput[], options: QueryOptions = {}): Promise<QueryResult> {
    return toResult(await this.model.generate({ ...this.#toRequest(prompt, options), stream: false }))
  }

  /** Sends one request immediately and streams the response. */
  stream(prompt: string | readonly MessageInput[], options: QueryOptions = {}): StreamResult {
    const abort = new AbortController()
    const pieces = new TextPieces(() => abort.abort())
    const { signal } = options
    const onAbort = () => abort.abort(signal?.reason)
    if (signal?.aborted) onAbort()
    else signal?.addEventListener('abort', onAbort, { once: true })
    const ask = async (): Promise<QueryResult> => {
      try {
        const sink: ModelSink = { text: (delta) => pieces.push(delta) }
        const result = toResult(await this.model.generate({ ...this.#toRequest(prompt, options), signal: abort.signal }, sink))
        pieces.end()
        return result
      } catch (error) {
        pieces.end({ error })
        throw error
      } finally {
        signal?.removeEventListener('abort', onAbort)
      }
    }
    const result = abort.signal.aborted ? Promise.reject(abortedError(this.model.provider, signal?.reason)) : ask()
    // Prevents an unhandled rejection if the caller ignores `result`. Reading the stream throws the same error.
    result.catch((error: unknown) => pieces.end({ error }))
    return { stream: pieces, result }
  }

  #toRequest(prompt: string | readonly MessageInput[], given: QueryOptions): ModelRequest {
    checkOptionNames(given, queryOptionNames, 'a query')
    const { provider, model, capabilities } = this.model
    const { messages = [], tools = [], ...options } = given
    if (tools.length > 0 && !capabilities.nativeTools)
      throw new InvalidOptionError('tools', `absent for \`${provider}/${model}\`, which does not support native calls`, tools)
    const own = toChatMessages(typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : prompt, 'prompt')
    const definitions = tools.length === 0 ? {} : { tools: checkedDefinitions(tools) }
    return { ...options, ...definitions, messages: [...own, ...toChatMessages(messages)] }
  }
}

function toResult({ text, toolCalls, finishReason, usage, warnings = [], providerData }: ModelResponse): QueryResult {
  return {
    content: text,
    ...(toolCalls.length === 0 ? {} : { toolCalls: withUniqueIds(toolCalls) }),
    finishReason: finishReasons[finishReason],
    ...(finishReason === 'content_filter' || finishReason === 'refusal' ? { stoppedBy: finishReason } : {}),
    ...withoutUndefined({ usage }),
    ...(warnings.length === 0 ? {} : { warnings }),
    ...withoutUndefined({ providerData }),
  }
}

/** Gives each call a unique id. Some servers send no ids, and results refer to their calls by id. */
function withUniqueIds(calls: readonly ToolCall[]): ToolCall[] {
  const taken = new Set<string>()
  return calls.map((call) => {
    const id = call.id === '' || taken.has(call.id) ? `call_${crypto.randomUUID().replaceAll('-', '').slice(0, 24)}` : call.id
    taken.add(id)
    return id === call.id ? call : { ...call, id }
  })
}

/** Buffers text for readers. Every reader gets the whole text, even if it starts to read late. */
class TextPieces implements AsyncIterable<string> {
  readonly #pieces: string[] = []
  readonly #onLeave: () => void
  #ended: { error?: unknown } | undefined
  #wake: (() => void)[] = []

  constructor(onLeave: () => void) {
    this.#onLeave = onLeave
  }

  push(piece: string): void {
    this.#pieces.push(piece)
    this.#wakeReaders()
  }

  end(how: { error?: unknown } = {}): void {
    this.#ended ??= how
    this.#wakeReaders()
  }

  /** Not a generator: its `return` would not settle until the next piece arrives. */
  [Symbol.asyncIterator](): AsyncIterator<string, undefined> {
    let at = 0
    let left = false
    const next = async (): Promise<IteratorResult<string, undefined>> => {
      while (!left && at >= this.#pieces.length && this.#ended === undefined) await new Promise<void>((wake) => this.#wake.push(wake))
      const piece = left ? undefined : this.#pieces[at++]
      if (piece !== undefined) return { value: piece, done: false }
      if (!left && this.#ended !== undefined && 'error' in this.#ended) {
        left = true
        throw this.#ended.error
      }
      return { value: undefined, done: true }
    }
    const leave = async (): Promise<IteratorResult<string, undefined>> => {
      left = true
      this.#wakeReaders()
      // Once the response has ended, there is no request left to abort.
      if (this.#ended === undefined) this.#onLeave()
      return { value: undefined, done: true }
    }
    return { next, return: leave }
  }

  #wakeReaders(): void {
    const waiting = this.#wake
    this.#wake = []
    for (const wake of waiting) wake()
  }
}
