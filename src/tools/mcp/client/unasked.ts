import type { JSONRPCMessage } from '@modelcontextprotocol/client'

/** A server may ask something now and then: so many at once, and then so many a second. */
const maxBurst = 100
const maxPerSecond = 20
/** Answers to nothing: none of them is of any use. */
const maxAnswers = 100
/** Requests that are remembered as not answered yet: some never are, such as those that were cancelled. */
const maxOpen = 10_000

/** Notices a server that keeps its client busy with requests and answers nobody asked it for. */
export class UnaskedMessages {
  readonly #asked = new Set<string | number>()
  #answers = 0
  #requests = 0
  #since = performance.now()

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
    if (!('id' in message) || message.id === undefined) return undefined
    if (!('method' in message)) {
      if (this.#asked.delete(message.id)) return undefined
      return ++this.#answers > maxAnswers ? `it sent more than ${maxAnswers} answers to nothing` : undefined
    }
    const now = performance.now()
    this.#requests = Math.max(0, this.#requests - ((now - this.#since) / 1_000) * maxPerSecond) + 1
    this.#since = now
    return this.#requests > maxBurst ? `it asked more than ${maxBurst} things at once` : undefined
  }
}
