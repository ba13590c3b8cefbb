import type { ElicitResult } from '@modelcontextprotocol/client'
import type { JsonObject } from '../../../../core/messages.ts'
import type { ToolContext } from '../../../tool.ts'
import type { CallNotes } from './call-notes.ts'
import type { ServerRequest } from './questions.ts'
import type { Sampler } from './sampling.ts'

/** What a server answers a call with: its result, or what it needs to know first. */
export type CallAnswer = JsonObject

/** What a server asks while it holds a call open. */
export interface HeldQuestion {
  request: ServerRequest
  /** Answers it, whereupon the server goes on with the call. */
  reply(result: ElicitResult): void
}

export type Progress = (update: { progress: number; total?: number; message?: string }) => void

/** Who waits for a call. */
type WaitingFor = Pick<ToolContext, 'signal' | 'progress' | 'askModel'> & { notes: CallNotes }

/** What was asked and answered before the call had to be made anew. */
export interface AnsweredRequest {
  request: ServerRequest
  result: ElicitResult
}

interface OpenCallOptions {
  known?: AnsweredRequest | undefined
  /** Asks the model, if the server may. */
  sampler?: Sampler | undefined
}

/**
 * A call on its way. It lasts longer than one run of its tool's function if the server asks something in between: the function then ends with the
 * question, and waits for the rest of the call when it is run again with the answer.
 */
export class OpenCall {
  readonly #answer: Promise<CallAnswer>
  readonly #over = new AbortController()
  #asked: PromiseWithResolvers<HeldQuestion> = Promise.withResolvers()
  /** Until the question before is answered. */
  #turn: Promise<unknown> = Promise.resolve()
  /** Of the function that waits for the call. */
  #waiting: WaitingFor | undefined
  readonly #sampler: Sampler | undefined
  readonly #known: AnsweredRequest | undefined
  /** Of the server, which nobody has answered yet. */
  #questions = 0

  /** `send` makes the call, which is over when the signal is aborted. */
  constructor(
    send: (call: OpenCall, signal: AbortSignal, onProgress: Progress) => Promise<CallAnswer>,
    { known, sampler }: OpenCallOptions = {},
  ) {
    this.#known = known
    this.#sampler = sampler
    this.#answer = send(this, this.#over.signal, (update) => this.#waiting?.progress({ ...update }))
    // It may fail while nobody waits for it.
    this.#answer.catch(() => {})
  }

  /** Waits for what comes first. When the signal is aborted, the call is over and the server is told so. */
  async next(waiting: WaitingFor): Promise<{ answer: CallAnswer } | { held: HeldQuestion }> {
    const { signal } = waiting
    this.#waiting = waiting
    this.#sampler?.noteIn(waiting.notes)
    const abort = () => this.#over.abort(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    try {
      const next = await Promise.race([this.#answer.then((answer) => ({ answer })), this.#asked.promise.then((held) => ({ held }))])
      // What it asks the model is paid for by this run of the function.
      await this.#sampler?.idle
      return next
    } finally {
      signal.removeEventListener('abort', abort)
      this.#waiting = undefined
    }
  }

  /** Whether a function waits for it just now. */
  get isWaitedFor(): boolean {
    return this.#waiting !== undefined
  }

  /** Whether a question of the server has not been answered yet. */
  get asks(): boolean {
    return this.#questions > 0
  }

  /** Takes what the server asks the model. Rejects where nobody waits for the call just now. */
  async sample(params: unknown): Promise<JsonObject | undefined> {
    return this.#waiting === undefined ? undefined : this.#sampler?.answer(params, this.#waiting.askModel)
  }

  /** Takes a question of the server; resolves when it has been answered. One after another, if there are several. */
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

  /** The server is told that nobody waits for it any more. */
  cancel(reason: Error): void {
    this.#over.abort(reason)
  }
}

function isSame(a: ServerRequest, b: ServerRequest): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
