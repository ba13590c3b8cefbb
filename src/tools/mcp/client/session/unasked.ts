import type { JSONRPCMessage } from '@modelcontextprotocol/client'

/** A server may ask something now and then, and tell of progress often: so many at once, and then so many a second. */
const requests = { burst: 100, perSecond: 20 }
const notifications = { burst: 5_000, perSecond: 500 }
/** What comes and is no message at all. */
const faults = { burst: 1_000, perSecond: 100 }
/** Answers to nothing: none of them is of any use. */
const maxAnswers = 100
/** Requests that are remembered as not answered yet: some never are, such as those that were cancelled. */
const maxOpen = 10_000

/** Notices a server that keeps its client busy with requests, notifications and answers nobody asked it for. */
export class UnaskedMessages {
  readonly #asked = new Set<string | number>()
  readonly #requests = new Rate(requests)
  readonly #notifications = new Rate(notifications)
  readonly #faults = new Rate(faults)
  #answers = 0

  /** Takes note of what the client sends. */
  sent(message: JSONRPCMessage | readonly JSONRPCMessage[]): void {
    for (const one of [message].flat()) if ('method' in one && 'id' in one && one.id !== undefined) this.#asked.add(one.id)
    for (const oldest of this.#asked) {
      if (this.#asked.size <= maxOpen) break
      this.#asked.delete(oldest)
    }
  }

  /** Takes note of what the server sends; says what is wrong once there is too much of it. */
  received(message: JSONRPCMessage): string | undefined {
    const isAnswer = !('method' in message)
    const id = 'id' in message ? message.id : undefined
    if (isAnswer) {
      if (id !== undefined && this.#asked.delete(id)) return undefined
      return ++this.#answers > maxAnswers ? `it sent more than ${maxAnswers} answers to nothing` : undefined
    }
    if (id === undefined)
      return this.#notifications.isExceeded() ? `it sent more than ${notifications.burst} notifications at once` : undefined
    return this.#requests.isExceeded() ? `it asked more than ${requests.burst} things at once` : undefined
  }

  /** Takes note of something that can't be understood; says what is wrong once there is too much of it. */
  failed(): string | undefined {
    return this.#faults.isExceeded() ? `it sent more than ${faults.burst} things at once that are no message` : undefined
  }
}

/** So many at once, and then so many a second. */
class Rate {
  readonly #bound: { burst: number; perSecond: number }
  #count = 0
  #since = performance.now()

  constructor(bound: { burst: number; perSecond: number }) {
    this.#bound = bound
  }

  /** Counts one more. */
  isExceeded(): boolean {
    const { burst, perSecond } = this.#bound
    const now = performance.now()
    this.#count = Math.max(0, this.#count - ((now - this.#since) / 1_000) * perSecond) + 1
    this.#since = now
    return this.#count > burst
  }
}
