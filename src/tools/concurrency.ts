/**
 * Starts calls in order, and limits how many run at once. A call that must run alone waits for all earlier calls, and later calls wait for
 * it.
 */
export class Lanes {
  readonly #most: number
  readonly #waiting: { alone: boolean; enter: () => void }[] = []
  #running = 0
  #aloneRunning = false

  constructor(most: number) {
    this.#most = most
  }

  /** Resolves when the call may start. Call `leave` once for each call of `enter`. */
  enter(alone: boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ alone, enter: resolve })
      this.#admit()
    })
  }

  leave(): void {
    this.#running--
    this.#aloneRunning = false
    this.#admit()
  }

  #admit(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const room = next.alone ? this.#running === 0 : this.#running < this.#most && !this.#aloneRunning
      if (!room) return
      this.#waiting.shift()
      this.#running++
      this.#aloneRunning = next.alone
      next.enter()
    }
  }
}
