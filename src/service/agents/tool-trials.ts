/** The calls that are tried now. */
export class ToolTrials {
  readonly #running = new Set<Promise<unknown>>()
  readonly #closing = new AbortController()

  /** Carries one out. Its signal is aborted with `signal`, and when the service closes. */
  async run<T>(signal: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const running = call(AbortSignal.any([signal, this.#closing.signal]))
    this.#running.add(running)
    try {
      return await running
    } finally {
      this.#running.delete(running)
    }
  }

  /** Resolves when none is under way, or with the signal. */
  async settled(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const stop = () => resolve()
    signal.addEventListener('abort', stop)
    if (signal.aborted) stop()
    try {
      await Promise.race([Promise.allSettled(this.#running), promise])
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  /** Cancels those that are under way, and all that come later. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.allSettled(this.#running)
  }
}
