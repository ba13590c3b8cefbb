import { isTakenOver, type Store } from '../store.ts'

/** How to release a run that broke off. */
export interface Release {
  args: Parameters<Store['release']>
  /** Each function records something that could not be recorded before. */
  unrecorded: (() => Promise<void>)[]
}

/**
 * Runs that broke off, and that the store can't release yet. Until then no other process continues them: it would repeat calls that have
 * ended.
 */
export class Releases {
  readonly #store: Pick<Store, 'release'>
  readonly #left = new Map<string, Release>()
  readonly #trying = new Map<string, Promise<void>>()

  constructor(store: Pick<Store, 'release'>) {
    this.#store = store
  }

  get size(): number {
    return this.#left.size
  }

  has(runId: string): boolean {
    return this.#left.has(runId)
  }

  /** Releases the run, now or in a later `retry`. */
  async add(release: Release): Promise<void> {
    const [runId] = release.args
    this.#left.set(runId, release)
    await this.settle(runId).catch(() => {})
  }

  async retry(): Promise<void> {
    for (const runId of this.#left.keys()) await this.settle(runId).catch(() => {})
  }

  /** Resolves when the run has been released. Rejects as the store does. */
  async settle(runId: string): Promise<void> {
    const release = this.#left.get(runId)
    if (release === undefined) return
    const trying = this.#trying.get(runId) ?? this.#recordAndRelease(release).finally(() => this.#trying.delete(runId))
    this.#trying.set(runId, trying)
    await trying
  }

  async #recordAndRelease({ args, unrecorded }: Release): Promise<void> {
    const [runId] = args
    try {
      for (let record = unrecorded[0]; record !== undefined; record = unrecorded[0]) {
        await record()
        unrecorded.shift()
      }
      await this.#store.release(...args)
    } catch (error) {
      if (!isTakenOver(error)) throw error
    }
    this.#left.delete(runId)
  }
}
