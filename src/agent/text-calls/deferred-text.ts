import type { PlannedCall } from '../types/recorded.ts'

/** Text after calls. It is released in order, each piece when its call, and all calls before it, have ended. */
export class DeferredText {
  readonly #calls: readonly PlannedCall[]
  readonly #ended = new Set<number>()
  readonly #shown = new Set<number>()
  #next = 0

  constructor(calls: readonly PlannedCall[]) {
    this.#calls = calls
  }

  /** The text that may be shown now that this call has ended. */
  release(index: number): string[] {
    this.#ended.add(index)
    return this.#take()
  }

  /** Does not wait for a call whose end was recorded by an earlier execution; the text after it was shown then. */
  after<T>(index: number, step: Promise<T>): Promise<T> {
    return step.then((end) => {
      if (!this.#ended.has(index)) this.#shown.add(index)
      this.#ended.add(index)
      return end
    })
  }

  #take(): string[] {
    const texts: string[] = []
    for (; this.#ended.has(this.#next); this.#next++) {
      const text = this.#calls[this.#next]?.textAfter
      if (text !== undefined && !this.#shown.has(this.#next)) texts.push(text)
    }
    return texts
  }
}
