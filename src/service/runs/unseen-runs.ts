import { giveWay } from '../../core/time/give-way.ts'
import type { RunBounds } from '../run-bounds.ts'
import type { ServiceRun } from './service-run.ts'
import type { Outcome } from './stored-run.ts'

interface UnseenRun {
  run: ServiceRun
  /** With secrets. */
  outcome: Outcome
  endedAt: number
  characters: number
}

/**
 * Runs that have ended without anybody looking at them. They are stored once somebody asks for runs. Those beyond the limits of stored runs
 * are dropped.
 */
export class UnseenRuns {
  readonly #bounds: () => Pick<RunBounds, 'count' | 'ageMs' | 'characters'>
  readonly #store: (run: ServiceRun, outcome: Outcome) => Promise<void>
  /** In the order in which they ended. */
  readonly #runs = new Map<string, UnseenRun>()
  #characters = 0
  #storing: Promise<void> | undefined

  /** `store`: must not reject. */
  constructor(
    bounds: () => Pick<RunBounds, 'count' | 'ageMs' | 'characters'>,
    store: (run: ServiceRun, outcome: Outcome) => Promise<void>,
  ) {
    this.#bounds = bounds
    this.#store = store
  }

  has(id: string): boolean {
    return this.#runs.has(id)
  }

  add(run: ServiceRun, outcome: Outcome): void {
    run.forgetClientTools()
    const characters = (run.shownEvents?.characters ?? 0) + (outcome.summary.output?.length ?? 0)
    this.#runs.set(run.id, { run, outcome, endedAt: performance.now(), characters })
    this.#characters += characters
    this.dropOld()
  }

  /** Drops the oldest ones beyond the limits. */
  dropOld(): void {
    const { count, ageMs, characters } = this.#bounds()
    const before = performance.now() - ageMs
    for (const [id, { endedAt, characters: own }] of this.#runs) {
      if (this.#runs.size <= count && this.#characters <= characters && endedAt >= before) return
      this.#runs.delete(id)
      this.#characters -= own
    }
  }

  /** Resolves when all of them are stored. */
  async store(): Promise<void> {
    while (this.#runs.size > 0) {
      this.#storing ??= this.#storeAll().finally(() => {
        this.#storing = undefined
      })
      await this.#storing
    }
    await this.#storing
  }

  async #storeAll(): Promise<void> {
    for (const [id, { run, outcome, characters }] of this.#runs) {
      await giveWay()
      await this.#store(run, outcome)
      if (this.#runs.delete(id)) this.#characters -= characters
    }
  }
}
