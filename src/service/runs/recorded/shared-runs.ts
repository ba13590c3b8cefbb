import type { ServiceRun } from '../service-run.ts'

/** Runs that are done, as they were read: all who look at one at the same time share it, so that very many of them need no more memory than one. */
export class SharedRuns {
  readonly #reading = new Map<string, Promise<ServiceRun>>()
  readonly #read = new Map<string, WeakRef<ServiceRun>>()
  readonly #forgotten = new FinalizationRegistry<string>((key) => {
    if (this.#read.get(key)?.deref() === undefined) this.#read.delete(key)
  })
  readonly #filled = new WeakMap<ServiceRun, Promise<void>>()

  /** The run of that key, read unless somebody has it or reads it. Rejects as `read` does. */
  get(key: string, read: () => Promise<ServiceRun>): Promise<ServiceRun> {
    const reading = this.#reading.get(key)
    if (reading !== undefined) return reading
    const known = this.#read.get(key)?.deref()
    if (known !== undefined) return Promise.resolve(known)
    const begun = this.#keep(key, read).finally(() => this.#reading.delete(key))
    this.#reading.set(key, begun)
    return begun
  }

  /** Resolves once the run's events are in its log: they are read once. Rejects as `fill` does, and is tried again then. */
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
