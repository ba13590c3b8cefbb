/** Keeps track of trial calls in progress. */
export class ToolTrials {
  readonly #running = new Set<Promise<unknown>>()
  readonly #closing = new AbortController()

  /** Runs a trial call. The signal of the call aborts when `signal` aborts, and when the service closes. */
  async run<T>(signal: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const running = call(AbortSignal.any([signal, this.#closing.signal]))
    this.#running.add(running)
    try {
      return await running
    } finally {
      this.#running.delete(running)
    }
  }

  /** Resolves when no call is in progress, or when `signal` aborts. */
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

  /** Cancels the calls in progress and all later calls. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.allSettled(this.#running)
  }
}
