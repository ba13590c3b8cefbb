import type { RunEvent } from '../../core/events.ts'
import { giveWay } from '../../core/time/give-way.ts'
import type { AnyTool } from '../../tools/tool.ts'
import type { RunBounds } from '../run-bounds.ts'
import type { ServiceRun } from './service-run.ts'
import type { Outcome, StoredRun } from './stored-run.ts'

/** A run that has ended, with its secrets. */
export interface UnseenRun {
  stored: StoredRun
  tools: readonly AnyTool[]
  events: readonly RunEvent[]
  outcome: Outcome
}

interface Kept extends UnseenRun {
  endedAt: number
  characters: number
}

type Bounds = Pick<RunBounds, 'count' | 'ageMs' | 'characters'>

/**
 * Runs that have ended without anybody looking at them. They are stored once somebody asks for runs. Those beyond the limits of stored runs
 * are dropped.
 */
export class UnseenRuns {
  readonly #bounds: () => Bounds
  readonly #store: (run: UnseenRun) => Promise<void>
  /** In the order in which they ended. */
  readonly #runs = new Map<string, Kept>()
  #characters = 0
  #storing: Promise<void> | undefined

  /** `store`: must not reject. */
  constructor(bounds: () => Bounds, store: (run: UnseenRun) => Promise<void>) {
    this.#bounds = bounds
    this.#store = store
  }

  has(id: string): boolean {
    return this.#runs.has(id)
  }

  add(run: ServiceRun, outcome: Outcome): void {
    const { shownEvents } = run
    const characters = (shownEvents?.characters ?? 0) + (outcome.summary.output?.length ?? 0)
    run.forgetClientTools()
    const kept = { stored: run.toStored(), tools: run.tools, events: shownEvents?.drain() ?? [], outcome }
    this.#runs.set(run.id, { ...kept, endedAt: performance.now(), characters })
    this.#characters += characters
    this.dropOld()
  }

  /** Drops the oldest ones beyond the limits. */
  dropOld(): void {
    const { count, ageMs, characters } = this.#bounds()
    const before = performance.now() - ageMs
    for (const [id, { endedAt }] of this.#runs) {
      if (this.#runs.size <= count && this.#characters <= characters && endedAt >= before) return
      this.#drop(id)
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
    for (const [id, run] of this.#runs) {
      await giveWay()
      await this.#store(run)
      this.#drop(id)
    }
  }

  #drop(id: string): void {
    this.#characters -= this.#runs.get(id)?.characters ?? 0
    this.#runs.delete(id)
  }
}
