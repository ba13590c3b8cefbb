import type { ServiceRun } from '../service-run.ts'

/** Caches ended runs in memory while they are in use. All readers of a run share one copy. */
export class SharedRuns {
  readonly #reading = new Map<string, Promise<ServiceRun>>()
  readonly #read = new Map<string, WeakRef<ServiceRun>>()
  readonly #forgotten = new FinalizationRegistry<string>((key) => {
    if (this.#read.get(key)?.deref() === undefined) this.#read.delete(key)
  })
  readonly #filled = new WeakMap<ServiceRun, Promise<void>>()

  /** Returns the run with this key. If it is not cached, reads it. Rejects with the errors of `read`. */
  get(key: string, read: () => Promise<ServiceRun>): Promise<ServiceRun> {
    const reading = this.#reading.get(key)
    if (reading !== undefined) return reading
    const known = this.#read.get(key)?.deref()
    if (known !== undefined) return Promise.resolve(known)
    const begun = this.#keep(key, read).finally(() => this.#reading.delete(key))
    this.#reading.set(key, begun)
    return begun
  }

  /**
   * Resolves when the run's log contains all its events. The events are read once. If `fill` rejects, `filled` rejects with the same error,
   * and the next call tries again.
   */
  filled(run: ServiceRun, fill: () => Promise<void>): Promise<void> {
    let filled = this.#filled.get(run)
    if (filled === undefined) {
      filled = fill()
      this.#filled.set(run, filled)
      filled.catch(() => this.#filled.delete(run))
    }
    return filled
  }

  async #keep(key: string, read: () => Promise<ServiceRun>): Promise<ServiceRun> {
    const run = await read()
    this.#read.set(key, new WeakRef(run))
    this.#forgotten.register(run, key)
    return run
  }
}
