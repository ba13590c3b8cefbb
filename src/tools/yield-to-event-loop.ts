const maxBusyMs = 20

/** For long work in many parts, such as compiling thousands of schemas: `take` between two parts lets the event loop run once 20 ms have passed. */
export class Pauses {
  #busySince = performance.now()

  /** Rejects with the signal's reason. */
  async take(signal?: AbortSignal): Promise<void> {
    if (performance.now() - this.#busySince < maxBusyMs) return
    await new Promise((resolve) => setImmediate(resolve))
    signal?.throwIfAborted()
    this.#busySince = performance.now()
  }
}
