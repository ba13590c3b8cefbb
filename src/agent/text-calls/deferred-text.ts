import type { PlannedCall } from '../types/recorded.ts'

/** Text after calls. Each piece is released when its call and all calls before it have ended. */
export class DeferredText {
  readonly #calls: readonly PlannedCall[]
  readonly #ended = new Set<number>()
  readonly #shown = new Set<number>()
  #next = 0

  constructor(calls: readonly PlannedCall[]) {
    this.#calls = calls
  }

  /** The text that may be shown now that the call at `index` has ended. */
  release(index: number): string[] {
    this.#ended.add(index)
    return this.#take()
  }

  /** Skips a call whose end was recorded by an earlier execution, because the text after it was shown then. */
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
