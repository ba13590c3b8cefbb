import type { JSONRPCMessage } from '@modelcontextprotocol/client'

/** Limits for messages that a server sends unasked: `burst` messages at once, and then `perSecond`. */
const requests = { burst: 100, perSecond: 20 }
const notifications = { burst: 5_000, perSecond: 500 }
/** Limits for data that is not a valid message. */
const faults = { burst: 1_000, perSecond: 100 }
/** Maximum number of responses without a matching request. */
const maxAnswers = 100
/** Maximum number of unanswered requests to remember. Some requests, for example cancelled requests, are never answered. */
const maxOpen = 10_000

/** Detects a server that sends too many messages that the client did not request. */
export class UnaskedMessages {
  readonly #asked = new Set<string | number>()
  readonly #requests = new Rate(requests)
  readonly #notifications = new Rate(notifications)
  readonly #faults = new Rate(faults)
  #answers = 0

  /** Records a message that the client sends. */
  sent(message: JSONRPCMessage | readonly JSONRPCMessage[]): void {
    for (const one of [message].flat()) if ('method' in one && 'id' in one && one.id !== undefined) this.#asked.add(one.id)
    for (const oldest of this.#asked) {
      if (this.#asked.size <= maxOpen) break
      this.#asked.delete(oldest)
    }
  }

  /** Records a message that the server sends. Returns a problem if the server has sent too many messages. */
  received(message: JSONRPCMessage): string | undefined {
    const isAnswer = !('method' in message)
    const id = 'id' in message ? message.id : undefined
    if (isAnswer) {
      if (id !== undefined && this.#asked.delete(id)) return undefined
      return ++this.#answers > maxAnswers ? `it sent more than ${maxAnswers} answers to requests that were not made` : undefined
    }
    if (id === undefined)
      return this.#notifications.isExceeded() ? `it sent more than ${notifications.burst} notifications at once` : undefined
    return this.#requests.isExceeded() ? `it sent more than ${requests.burst} requests at once` : undefined
  }

  /** Records data that can't be parsed. Returns a problem if the server has sent too much of it. */
  failed(): string | undefined {
    return this.#faults.isExceeded() ? `it sent more than ${faults.burst} invalid messages at once` : undefined
  }
}

/** Limits events to `burst` at once and then `perSecond`. */
class Rate {
  readonly #bound: { burst: number; perSecond: number }
  #count = 0
  #since = performance.now()

  constructor(bound: { burst: number; perSecond: number }) {
    this.#bound = bound
  }

  /** Counts an event. Returns whether the limit is exceeded. */
  isExceeded(): boolean {
    const { burst, perSecond } = this.#bound
    const now = performance.now()
    this.#count = Math.max(0, this.#count - ((now - this.#since) / 1_000) * perSecond) + 1
    this.#since = now
    return this.#count > burst
  }
}
