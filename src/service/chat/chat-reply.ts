import type { RunResult } from '../../agent/types.ts'
import type { SseSource } from '../../agent/web/sse-stream.ts'
import { Event, type RunEvent, type StopReason } from '../../core/events.ts'
import type { ToolCall, Usage } from '../../core/messages.ts'
import { errorBody, HttpProblem, problemOfRun } from '../http/problem.ts'
import type { RunWatcher } from '../runs/follow-run.ts'

type ChatFinish = 'stop' | 'length' | 'tool_calls' | 'content_filter'

export interface ChatReplyOptions {
  id: string
  /** As the client asked for it. */
  model: string
  /** Nothing but the answer itself is content: no remarks beside calls. */
  answerOnly: boolean
  includeUsage: boolean
}

/** Characters that may wait for a reader. A run can't be slowed down, so a reader with more than that waiting is dropped. */
const maxWaiting = 4_000_000

/**
 * A run as a chat completion: in chunks while it goes on, or whole when it has ended. Both say the same. What the model says in several
 * turns is one content, a blank line between them.
 */
export class ChatReply implements RunWatcher, SseSource {
  readonly #options: ChatReplyOptions
  readonly #created = Math.floor(Date.now() / 1000)
  readonly #ended = Promise.withResolvers<void>()
  readonly #streams: boolean
  #wake: () => void = () => {}
  #frames: string[] = []
  #waiting = 0
  #said = ''
  #iteration = 0
  #closed = false
  #result: RunResult | undefined
  /** Called when the reader is too slow. */
  onOverflow: () => void = () => {}

  constructor(options: ChatReplyOptions, { streams }: { streams: boolean }) {
    this.#options = options
    this.#streams = streams
    this.#chunk({ role: 'assistant', content: '' })
  }

  get ended(): boolean {
    return this.#closed && this.#frames.length === 0
  }

  onReady(wake: () => void): () => void {
    this.#wake = wake
    return () => {
      this.#wake = () => {}
    }
  }

  take(characters: number): string {
    let text = ''
    let taken = 0
    for (const frame of this.#frames) {
      text += frame
      taken++
      if (text.length >= characters) break
    }
    this.#frames = this.#frames.slice(taken)
    this.#waiting -= text.length
    return text
  }

  /** As an error: clients of this API know no other frame for it. */
  lastWords(reason: string): string {
    return `data: ${JSON.stringify(errorBody(new HttpProblem(503, 'shutting_down', reason)))}\n\n`
  }

  event(event: RunEvent): void {
    if (event.type !== Event.TEXT_DELTA || this.#options.answerOnly) return
    this.#say(event.text, event.meta.iteration)
  }

  /** The whole completion, when the run has ended. Rejects with an `HttpProblem` for a run without an answer. */
  async completion(): Promise<object> {
    await this.#ended.promise
    const result = this.#result
    const problem = problemIn(result)
    if (problem !== undefined || result === undefined) throw problem
    const calls = clientCalls(result)
    const content = this.#said === '' && calls.length > 0 ? null : this.#said
    const message = { role: 'assistant', content, refusal: null, ...(calls.length === 0 ? {} : { tool_calls: calls }) }
    return {
      ...this.#head('chat.completion'),
      choices: [{ index: 0, message, logprobs: null, finish_reason: finishReasonOf(result) }],
      usage: usageOf(result.usage),
    }
  }

  over(result: RunResult | undefined): void {
    this.#result = result
    const problem = problemIn(result)
    if (problem !== undefined || result === undefined) this.#frame(errorBody(problem ?? problemOfRun(undefined)))
    else {
      // A tool's result that is the answer, or one that had to fit a schema, was not said piece by piece.
      if (result.text !== '' && !this.#said.endsWith(result.text)) this.#say(result.text, result.iterations + 1)
      const calls = clientCalls(result)
      if (calls.length > 0) this.#chunk({ tool_calls: calls.map((call, index) => ({ index, ...call })) })
      this.#chunk({}, finishReasonOf(result))
      if (this.#options.includeUsage) this.#frame({ ...this.#head('chat.completion.chunk'), choices: [], usage: usageOf(result.usage) })
      this.#push('data: [DONE]\n\n')
    }
    this.#closed = true
    this.#ended.resolve()
    this.#wake()
  }

  #say(text: string, iteration: number): void {
    const piece = this.#said !== '' && iteration !== this.#iteration ? `\n\n${text}` : text
    this.#iteration = iteration
    this.#said += piece
    this.#chunk({ content: piece })
  }

  #head(object: string): object {
    return { id: this.#options.id.replace(/^run_/, 'chatcmpl-'), object, created: this.#created, model: this.#options.model }
  }

  #chunk(delta: object, finish: ChatFinish | null = null): void {
    // A usage of null is in every chunk but the last where it was asked for.
    const usage = this.#options.includeUsage ? { usage: null } : {}
    this.#frame({ ...this.#head('chat.completion.chunk'), choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }], ...usage })
  }

  #frame(data: object): void {
    if (this.#streams) this.#push(`data: ${JSON.stringify(data)}\n\n`)
  }

  #push(frame: string): void {
    if (!this.#streams || this.#closed) return
    if (this.#waiting > maxWaiting) {
      const problem = new HttpProblem(503, 'reader_too_slow', 'The client reads too slowly')
      this.#frames = [`data: ${JSON.stringify(errorBody(problem))}\n\n`]
      this.#closed = true
      this.onOverflow()
    } else {
      this.#frames.push(frame)
      this.#waiting += frame.length
    }
    this.#wake()
  }
}

/** Calls the client has to run, with the arguments as the model wrote them. */
function clientCalls({ pending, toolCalls }: RunResult): ToolCall[] {
  return pending
    .filter(({ kind }) => kind === 'client_tool')
    .map(({ toolCallId, tool, args }) => {
      const written = toolCalls.find(({ id }) => id === toolCallId)?.rawArguments
      return { id: toolCallId, type: 'function', function: { name: tool, arguments: written || JSON.stringify(args) } }
    })
}

function problemIn(result: RunResult | undefined): HttpProblem | undefined {
  if (result === undefined) return problemOfRun(undefined)
  const { stopReason, error } = result
  if (stopReason === 'aborted') return new HttpProblem(499, 'aborted', 'The run was aborted', { headers: { 'x-should-retry': 'false' } })
  if (stopReason === 'model_error' || (stopReason === 'stopped' && error !== undefined)) return problemOfRun(error)
  return undefined
}

const finishReasons: Partial<Record<StopReason, ChatFinish>> = {
  max_iterations: 'length',
  budget: 'length',
  deadline: 'length',
  repeated_calls: 'length',
  refused: 'content_filter',
}

function finishReasonOf(result: RunResult): ChatFinish {
  if (clientCalls(result).length > 0) return 'tool_calls'
  if (result.stopReason === 'answered' && result.steps.at(-1)?.finishReason === 'length') return 'length'
  return finishReasons[result.stopReason] ?? 'stop'
}

function usageOf({ inputTokens, outputTokens, totalTokens, reasoningTokens, cacheReadTokens }: Usage): object {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: totalTokens,
    ...(cacheReadTokens === undefined ? {} : { prompt_tokens_details: { cached_tokens: cacheReadTokens } }),
    ...(reasoningTokens === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoningTokens } }),
  }
}
