import { randomUUID } from 'node:crypto'
import type { ElicitResult } from '@modelcontextprotocol/client'
import type { HeldQuestion, OpenCall } from './open-call.ts'

/** Maximum time for which a call is held open, in milliseconds. */
const longestHoldMs = 60 * 60_000
/** Maximum number of calls that are held open at once. */
const mostHeld = 100

interface HeldCall {
  call: OpenCall
  question: HeldQuestion
  timer: NodeJS.Timeout
}

/** Calls that wait for an answer while the server keeps them open. */
export class HeldCalls {
  readonly #held = new Map<string, HeldCall>()

  /** Holds a call open. Returns the id with which the call can be answered. */
  hold(call: OpenCall, question: HeldQuestion): string {
    const id = randomUUID()
    const timer = setTimeout(() => this.answer(id, { action: 'cancel' }), longestHoldMs).unref()
    this.#held.set(id, { call, question, timer })
    const [oldest] = this.#held.keys()
    if (this.#held.size > mostHeld && oldest !== undefined) this.answer(oldest, { action: 'cancel' })
    return id
  }

  /** Answers a call's question and returns the call. Undefined if the call is no longer held. */
  answer(id: string, result: ElicitResult): OpenCall | undefined {
    const held = this.#take(id)
    held?.question.reply(result)
    return held?.call
  }

  /** Ends all held calls. */
  close(): void {
    for (const id of this.#held.keys()) this.#take(id)?.call.cancel(new Error('closed'))
  }

  #take(id: string): HeldCall | undefined {
    const held = this.#held.get(id)
    this.#held.delete(id)
    clearTimeout(held?.timer)
    return held
  }
}
