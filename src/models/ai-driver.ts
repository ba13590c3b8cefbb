import { InvalidOptionError } from '../core/errors.ts'
import { type MessageInput, toChatMessages } from '../core/message-input.ts'
import { type FinishReason, type JsonObject, type ProviderData, type ToolCall, type Usage, withoutUndefined } from '../core/messages.ts'
import { checkOptionNames, type OptionNames } from '../core/option-names.ts'
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

/** What one query of an `AIDriver` is given. */
export interface QueryOptions extends Sampling {
  /** Definitions, or tools: only their definitions are sent. */
  tools?: readonly (ToolDefinition | AnyTool)[]
  /** Default `'auto'`. */
  toolChoice?: ToolChoice
  /** Appended after the prompt's own messages, such as the calls and results of an earlier query. */
  messages?: readonly MessageInput[]
  parallelToolCalls?: boolean
  signal?: AbortSignal
  /** Longest silence of the provider, in milliseconds. */
  streamIdleTimeoutMs?: number
  /** Longest time without an event of the provider's stream, in milliseconds. */
  streamStallTimeoutMs?: number
  /** Fields put into the provider's request body as they are. */
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

/** What a query of an `AIDriver` came to. */
export interface QueryResult {
  content: string
  /** Undefined when there are none. Their ids are unique within the result. */
  toolCalls?: ToolCall[]
  finishReason?: 'stop' | 'length' | 'error' | 'tool_calls'
  /**
   * What `finishReason` has no word for. `'content_filter'`: the provider's filter stopped the response, which is an `'error'`. `'refusal'`:
   * the model declined, which is a `'stop'`; the content is what it said.
   */
  stoppedBy?: 'content_filter' | 'refusal'
  usage?: Usage
  /** Settings that were not passed on, parts that were replaced, oddities that were put right. Undefined when there are none. */
  warnings?: string[]
  /** To be kept on the assistant message that is made of this result, for providers that want it back. */
  providerData?: ProviderData
}

/** A streamed query of an `AIDriver`: its pieces, and its result. */
export interface StreamResult {
  /**
   * The text, piece by piece. Throws what `result` rejects with. Leaving the loop early aborts the request; never entering it is fine.
   */
  stream: AsyncIterable<string>
  /** The whole result, calls included. May be ignored: its rejection is then nobody's. */
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
 * One request, one answer: `query` for the whole, `stream` for its pieces. Tools are offered and calls come back; running them and asking
 * again, with the call and result messages in `messages`, is the caller's.
 *
 * ```ts
 * const driver = new AIDriver('openai/gpt-5.2')
 * const { toolCalls } = await driver.query('What is the weather in Tokyo?', { tools })
 * ```
 */
export class AIDriver {
  readonly model: ChatModel

  /** Over a model, or what `createModel` takes. Throws what that throws. */
  constructor(model: AnyModel) {
    this.model = openModel(model)
  }

  /**
   * Rejects with a `ModelError`; with code `aborted` for an aborted signal; with `invalid_message`; with `invalid_tool` for a tool's bad name,
   * or one that comes twice; and with `invalid_option` for tools where the model has no native calls: `ToolAgent` speaks to those.
   */
  async query(prompt: string | readonly MessageInput[], options: QueryOptions = {}): Promise<QueryResult> {
    return toResult(await this.model.generate({ ...this.#toRequest(prompt, options), stream: false }))
  }

  /** Starts the request at once. */
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
    // Whoever only reads the stream gets the error there.
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

/** Each call needs an id of its own to be answered under; not every server gives it one. */
function withUniqueIds(calls: readonly ToolCall[]): ToolCall[] {
  const taken = new Set<string>()
  return calls.map((call) => {
    const id = call.id === '' || taken.has(call.id) ? `call_${crypto.randomUUID().replaceAll('-', '').slice(0, 24)}` : call.id
    taken.add(id)
    return id === call.id ? call : { ...call, id }
  })
}

/** Text that is written at once and read at leisure; every reader gets all of it. */
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

  /** Not a generator: that would let a reader leave only between two pieces, not while it waits for one. */
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
      // Once the response has ended there is nothing left to abort.
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
