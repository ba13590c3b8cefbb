import type { PlannedCall } from '../types/recorded.ts'

/** Text that stood behind calls: it is let go in its order, each piece when its call, and all before it, have ended. */
export class DeferredText {
  readonly #calls: readonly PlannedCall[]
  readonly #ended = new Set<number>()
  readonly #shown = new Set<number>()
  #next = 0

  constructor(calls: readonly PlannedCall[]) {
    this.#calls = calls
  }

  /** What may be shown now that this call has ended. */
  release(index: number): string[] {
    this.#ended.add(index)
    return this.#take()
  }

  /** A call whose end was recorded by an earlier execution is not waited for; what stood behind it was shown then. */
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
