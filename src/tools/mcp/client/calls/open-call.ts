import type { ElicitResult } from '@modelcontextprotocol/client'
import type { JsonObject } from '../../../../core/messages.ts'
import type { ToolContext } from '../../../tool.ts'
import type { CallNotes } from './call-notes.ts'
import type { ServerRequest } from './questions.ts'
import type { Sampler } from './sampling.ts'

/** The server's response to a call: a result, or questions to answer first. */
export type CallAnswer = JsonObject

/** A question that a server asks while it holds a call open. */
export interface HeldQuestion {
  request: ServerRequest
  /** Answers the question. The server then continues the call. */
  reply(result: ElicitResult): void
}

export type Progress = (update: { progress: number; total?: number; message?: string }) => void

/** The context of the tool function that waits for the call. */
type WaitingFor = Pick<ToolContext, 'signal' | 'progress' | 'askModel'> & { notes: CallNotes }

/** A question and its answer, from before the call was repeated. */
export interface AnsweredRequest {
  request: ServerRequest
  result: ElicitResult
}

interface OpenCallOptions {
  known?: AnsweredRequest | undefined
  /** Answers the server's requests to the model. Undefined if the server may not ask the model. */
  sampler?: Sampler | undefined
}

/** A call in flight. It stays open while it waits for the answer to a question, even if the tool's function has returned. */
export class OpenCall {
  readonly #answer: Promise<CallAnswer>
  readonly #over = new AbortController()
  #asked: PromiseWithResolvers<HeldQuestion> = Promise.withResolvers()
  /** Settles when the previous question has been answered. */
  #turn: Promise<unknown> = Promise.resolve()
  /** Undefined while no tool function waits for the call. */
  #waiting: WaitingFor | undefined
  readonly #sampler: Sampler | undefined
  readonly #known: AnsweredRequest | undefined
  /** Number of the server's unanswered questions. */
  #questions = 0

  /** `send` makes the call. Aborting the signal ends the call. */
  constructor(
    send: (call: OpenCall, signal: AbortSignal, onProgress: Progress) => Promise<CallAnswer>,
    { known, sampler }: OpenCallOptions = {},
  ) {
    this.#known = known
    this.#sampler = sampler
    this.#answer = send(this, this.#over.signal, (update) => this.#waiting?.progress({ ...update }))
    // The call may fail while no tool function waits for it.
    this.#answer.catch(() => {})
  }

  /** Waits for the answer or a question, whichever comes first. If the signal is aborted, the call ends and the server is notified. */
  async next(waiting: WaitingFor): Promise<{ answer: CallAnswer } | { held: HeldQuestion }> {
    const { signal } = waiting
    this.#waiting = waiting
    this.#sampler?.noteIn(waiting.notes)
    const abort = () => this.#over.abort(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    try {
      const next = await Promise.race([this.#answer.then((answer) => ({ answer })), this.#asked.promise.then((held) => ({ held }))])
      // Waits for the server's requests to the model, so that their usage counts for this execution.
      await this.#sampler?.idle
      return next
    } finally {
      signal.removeEventListener('abort', abort)
      this.#waiting = undefined
    }
  }

  /** Whether a tool function is waiting for the call. */
  get isWaitedFor(): boolean {
    return this.#waiting !== undefined
  }

  /** Whether a question of the server is unanswered. */
  get asks(): boolean {
    return this.#questions > 0
  }

  /**
   * Handles a server's request to ask the model. Resolves with undefined if no function is waiting for the call, or if the server may not
   * ask the model.
   */
  async sample(params: unknown): Promise<JsonObject | undefined> {
    return this.#waiting === undefined ? undefined : this.#sampler?.answer(params, this.#waiting.askModel)
  }

  /** Handles a question of the server. Resolves when the question is answered. Asks one question at a time. */
  async ask(request: ServerRequest, signal: AbortSignal): Promise<ElicitResult> {
    if (this.#known !== undefined && isSame(this.#known.request, request)) return this.#known.result
    const replied = Promise.withResolvers<ElicitResult>()
    this.#questions++
    const before = this.#turn
    this.#turn = replied.promise
    const cancel = () => replied.resolve({ action: 'cancel' })
    for (const one of [signal, this.#over.signal]) one.addEventListener('abort', cancel, { once: true })
    if (signal.aborted || this.#over.signal.aborted) cancel()
    await before
    this.#asked.resolve({
      request,
      reply: (result) => {
        this.#asked = Promise.withResolvers()
        replied.resolve(result)
      },
    })
    return replied.promise.finally(() => this.#questions--)
  }

  /** Ends the call and notifies the server. */
  cancel(reason: Error): void {
    this.#over.abort(reason)
  }
}

function isSame(a: ServerRequest, b: ServerRequest): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
