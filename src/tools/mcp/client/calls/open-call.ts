import type { CallToolResult, ElicitResult, InputRequiredResult } from '@modelcontextprotocol/client'
import type { ToolContext } from '../../../tool.ts'
import type { ServerRequest } from './questions.ts'

/** What a server answers a call with: its result, or what it needs to know first. */
export type CallAnswer = CallToolResult | InputRequiredResult

/** What a server asks while it holds a call open. */
export interface HeldQuestion {
  request: ServerRequest
  /** Answers it, whereupon the server goes on with the call. */
  reply(result: ElicitResult): void
}

export type Progress = (update: { progress: number; total?: number; message?: string }) => void

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
  #progress: ToolContext['progress'] | undefined
  /** What was asked and answered before the call had to be made anew. */
  readonly #known: { request: ServerRequest; result: ElicitResult } | undefined

  /** `send` makes the call, which is over when the signal is aborted. */
  constructor(
    send: (call: OpenCall, signal: AbortSignal, onProgress: Progress) => Promise<CallAnswer>,
    known?: { request: ServerRequest; result: ElicitResult },
  ) {
    this.#known = known
    this.#answer = send(this, this.#over.signal, (update) => this.#progress?.({ ...update }))
    // It may fail while nobody waits for it.
    this.#answer.catch(() => {})
  }

  /** Waits for what comes first. When the signal is aborted, the call is over and the server is told so. */
  async next({ signal, progress }: Pick<ToolContext, 'signal' | 'progress'>): Promise<{ answer: CallAnswer } | { held: HeldQuestion }> {
    this.#progress = progress
    const abort = () => this.#over.abort(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    try {
      return await Promise.race([this.#answer.then((answer) => ({ answer })), this.#asked.promise.then((held) => ({ held }))])
    } finally {
      signal.removeEventListener('abort', abort)
      this.#progress = undefined
    }
  }

  /** Takes a question of the server; resolves when it has been answered. One after another, if there are several. */
  async ask(request: ServerRequest, signal: AbortSignal): Promise<ElicitResult> {
    if (this.#known !== undefined && isSame(this.#known.request, request)) return this.#known.result
    const replied = Promise.withResolvers<ElicitResult>()
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
    return replied.promise
  }

  /** The server is told that nobody waits for it any more. */
  cancel(reason: Error): void {
    this.#over.abort(reason)
  }
}

function isSame(a: ServerRequest, b: ServerRequest): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
