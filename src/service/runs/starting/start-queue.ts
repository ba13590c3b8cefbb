/**
 * Lets things begin one after the other, each in a turn of the event loop of its own: a thousand that come at once leave room between them
 * for everything else, and what they do next does not come at once again.
 */
export class StartQueue {
  readonly #waiting: (() => void)[] = []
  #isTaken = false

  /** Resolves when it is the caller's turn: without waiting where nothing else has begun in this turn of the event loop. */
  turn(): Promise<void> {
    if (this.#isTaken) return new Promise((begin) => this.#waiting.push(begin))
    this.#take()
    return Promise.resolve()
  }

  #take(): void {
    this.#isTaken = true
    setImmediate(() => {
      const begin = this.#waiting.shift()
      this.#isTaken = false
      if (begin === undefined) return
      this.#take()
      begin()
    })
  }
}
