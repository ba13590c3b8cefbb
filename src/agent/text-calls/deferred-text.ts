import type { PlannedCall } from '../types/recorded.ts'

/** Holds back the texts that follow calls. Each text is released when its call and all calls before it have ended. */
export class DeferredText {
  readonly #calls: readonly PlannedCall[]
  readonly #ended = new Set<number>()
  readonly #shown = new Set<number>()
  #next = 0

  constructor(calls: readonly PlannedCall[]) {
    this.#calls = calls
  }

  /** Called when the call at `index` has ended. Returns the texts that may now be shown. */
  release(index: number): string[] {
    this.#ended.add(index)
    return this.#take()
  }

  /**
   * Marks the call as ended when `step` resolves. If an earlier execution recorded that end, it has already shown the text after the call.
   */
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
