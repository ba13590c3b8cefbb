import type { RunResult } from '../../agent/types/options.ts'
import { Event, type RunEvent } from '../../core/events.ts'
import type { Usage } from '../../core/messages.ts'
import { errorBody, type HttpProblem, problemOfRun } from '../http/problem.ts'
import type { ClientReply } from './answer-client.ts'
import { ReplyFrames } from './reply-frames.ts'
import { SaidText } from './said-text.ts'
import { clientCalls, needsClient, previewNote, problemIn, type Shortfall, shortfallIn } from './told-result.ts'

type ChatFinish = Shortfall | 'stop' | 'tool_calls'

export interface ChatReplyOptions {
  id: string
  /** The name of the model, as in the client's request. */
  model: string
  /** Whether to leave out text that the model wrote before its tool calls. */
  answerOnly: boolean
  includeUsage: boolean
}

/**
 * Represents a run as a chat completion: in chunks while the run continues, or as a whole when the run has ended. Both forms have the same
 * content.
 */
export class ChatReply implements ClientReply {
  readonly #options: ChatReplyOptions
  readonly #head: object
  readonly #ended = Promise.withResolvers<void>()
  readonly frames: ReplyFrames | undefined
  readonly #said = new SaidText()
  #result: RunResult | undefined

  constructor(options: ChatReplyOptions, { streams }: { streams: boolean }) {
    const { id, model } = options
    this.#options = options
    const object = streams ? 'chat.completion.chunk' : 'chat.completion'
    this.#head = { id: id.replace(/^run_/, 'chatcmpl-'), object, created: Math.floor(Date.now() / 1000), model }
    this.frames = streams ? new ReplyFrames(failureFrame) : undefined
    this.#chunk({ role: 'assistant', content: '' })
  }

  /** Whether the reply can discard text that a retry replaces. A streamed reply has already sent its text. */
  get takesBack(): boolean {
    return this.frames === undefined
  }

  event(event: RunEvent): void {
    // Skips nested runs, because their text is only for the model of the outer run.
    if (event.meta.parentRunId !== undefined) return
    const iteration = this.#said.follow(event)
    if (event.type === Event.TEXT_DELTA && !this.#options.answerOnly) this.#say(event.text, iteration)
  }

  async whole(): Promise<string> {
    await this.#ended.promise
    const result = this.#result
    if (result === undefined) throw problemOfRun(undefined)
    const problem = problemIn(result)
    if (problem !== undefined) throw problem
    const calls = clientCalls(result)
    const said = this.#said.all
    const content = said === '' && calls.length > 0 ? null : said
    const message = { role: 'assistant', content, refusal: null, ...(calls.length === 0 ? {} : { tool_calls: calls }) }
    return JSON.stringify({
      ...this.#head,
      choices: [{ index: 0, message, logprobs: null, finish_reason: finishReasonOf(result) }],
      usage: usageOf(result.usage),
    })
  }

  over(result: RunResult | undefined): void {
    this.#result = result
    const problem = result === undefined ? problemOfRun(undefined) : problemIn(result)
    if (problem !== undefined) this.frames?.push(failureFrame(problem))
    else if (result !== undefined) {
      if (this.#said.lacks(result.text)) this.#say(result.text, result.iterations + 1)
      const note = this.#options.answerOnly ? undefined : previewNote(result)
      if (note !== undefined) this.#say(note, result.iterations + 2)
      const calls = clientCalls(result)
      if (calls.length > 0) this.#chunk({ tool_calls: calls.map((call, index) => ({ index, ...call })) })
      this.#chunk({}, finishReasonOf(result))
      if (this.#options.includeUsage) this.#frame({ choices: [], usage: usageOf(result.usage) })
      this.frames?.push('data: [DONE]\n\n')
    }
    this.frames?.close()
    this.#ended.resolve()
  }

  #say(text: string, iteration: number): void {
    this.#chunk({ content: this.#said.add(text, iteration) })
  }

  #chunk(delta: object, finish: ChatFinish | null = null): void {
    // If the client has requested usage, every chunk except the last has `usage: null`.
    const usage = this.#options.includeUsage ? { usage: null } : {}
    this.#frame({ choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }], ...usage })
  }

  #frame(data: object): void {
    this.frames?.push(`data: ${JSON.stringify({ ...this.#head, ...data })}\n\n`)
  }
}

function failureFrame(problem: HttpProblem): string {
  return `data: ${JSON.stringify(errorBody(problem))}\n\n`
}

function finishReasonOf(result: RunResult): ChatFinish {
  return needsClient(result) ? 'tool_calls' : (shortfallIn(result) ?? 'stop')
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
