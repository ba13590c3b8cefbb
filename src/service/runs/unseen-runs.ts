import type { RunEvent } from '../../core/events.ts'
import { giveWay } from '../../core/time/give-way.ts'
import type { AnyTool } from '../../tools/tool.ts'
import type { RunBounds } from '../run-bounds.ts'
import type { ServiceRun } from './service-run.ts'
import type { Outcome, RunSnapshot } from './stored-run.ts'

/** An ended run, with its secrets. */
export interface UnseenRun {
  stored: RunSnapshot
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
 * Runs that ended before any client asked for them. They are stored when a client requests runs for the first time. Runs that exceed the
 * limits on stored runs are dropped.
 */
export class UnseenRuns {
  readonly #bounds: () => Bounds
  readonly #store: (run: UnseenRun) => Promise<void>
  /** The runs in the order in which they ended. */
  readonly #runs = new Map<string, Kept>()
  readonly #ofCallers = new Map<string, { count: number; characters: number }>()
  #characters = 0
  #storing: Promise<void> | undefined

  /** `store` stores a run. It must not reject. */
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
    const own = this.#ofCallers.get(run.head.caller.name) ?? { count: 0, characters: 0 }
    this.#ofCallers.set(run.head.caller.name, { count: own.count + 1, characters: own.characters + characters })
    this.dropOld()
  }

  /** Drops runs that are too old. If another limit is exceeded, drops the oldest runs of the caller that uses the most. */
  dropOld(): void {
    const { count, ageMs, characters } = this.#bounds()
    const before = performance.now() - ageMs
    for (const [id, { endedAt }] of this.#runs) {
      if (endedAt >= before) break
      this.#drop(id)
    }
    while (this.#runs.size > count) this.#dropOldestOf(this.#callerWithMost('count'))
    while (this.#characters > characters && this.#runs.size > 0) this.#dropOldestOf(this.#callerWithMost('characters'))
  }

  #callerWithMost(what: 'count' | 'characters'): string | undefined {
    let most: [caller: string, amount: number] | undefined
    for (const [caller, { [what]: amount }] of this.#ofCallers) if (most === undefined || amount > most[1]) most = [caller, amount]
    return most?.[0]
  }

  #dropOldestOf(caller: string | undefined): void {
    for (const [id, { stored }] of this.#runs) {
      if (stored.head.caller.name !== caller) continue
      this.#drop(id)
      return
    }
  }

  /** Stores all runs. Resolves when they are stored. */
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
    const run = this.#runs.get(id)
    if (run === undefined) return
    const { name } = run.stored.head.caller
    const { count, characters } = this.#ofCallers.get(name) ?? { count: 1, characters: run.characters }
    if (count === 1) this.#ofCallers.delete(name)
    else this.#ofCallers.set(name, { count: count - 1, characters: characters - run.characters })
    this.#characters -= run.characters
    this.#runs.delete(id)
  }
}
