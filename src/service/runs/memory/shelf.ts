import { processClock } from '../../../core/time/process-clock.ts'
import type { ServiceRun } from '../service-run.ts'

/** Runs that are not running, in the order they came to be that. */
export class Shelf {
  readonly #runs = new Map<string, { run: ServiceRun; size: number; since: number }>()
  #characters = 0
  /** Of each caller. */
  readonly #charactersOf = new Map<string, number>()

  get size(): number {
    return this.#runs.size
  }

  get characters(): number {
    return this.#characters
  }

  charactersOf(caller: string): number {
    return this.#charactersOf.get(caller) ?? 0
  }

  get(id: string): ServiceRun | undefined {
    return this.#runs.get(id)?.run
  }

  *runs(): Iterable<ServiceRun> {
    for (const { run } of this.#runs.values()) yield run
  }

  /** For how long the run has been here, in milliseconds. */
  ageOf({ id }: ServiceRun): number {
    return processClock.now() - (this.#runs.get(id)?.since ?? Number.POSITIVE_INFINITY)
  }

  add(run: ServiceRun): void {
    this.delete(run)
    this.#runs.set(run.id, { run, size: run.size, since: processClock.now() })
    this.#count(run, run.size)
  }

  /** Its events are gone then; that it waits for a decision is not. */
  clearLog(run: ServiceRun): void {
    const kept = this.#runs.get(run.id)
    // Whoever is asked for anything clears them all, where they are too many even without events.
    if (kept === undefined || run.log.characters === 0) return
    run.log.clear()
    this.#count(run, run.size - kept.size)
    kept.size = run.size
  }

  delete(run: ServiceRun): void {
    this.#count(run, -(this.#runs.get(run.id)?.size ?? 0))
    this.#runs.delete(run.id)
  }

  #count({ head }: ServiceRun, characters: number): void {
    this.#characters += characters
    const { name } = head.caller
    const now = this.charactersOf(name) + characters
    if (now === 0) this.#charactersOf.delete(name)
    else this.#charactersOf.set(name, now)
  }
}
