const longestWorkMs = 20

/** For work in many parts, such as compiling very many schemas: between two of them, everything else gets its turn when it has waited for some time. */
export class Pauses {
  #busySince = performance.now()

  /** Rejects with the signal's reason. */
  async take(signal?: AbortSignal): Promise<void> {
    if (performance.now() - this.#busySince < longestWorkMs) return
    await new Promise((resolve) => setImmediate(resolve))
    signal?.throwIfAborted()
    this.#busySince = performance.now()
  }
}
