import { Lanes } from '../../tools/concurrency.ts'
import type { RunTries, Store, Taken } from './store.ts'

/** The runs of a process that were taken over from one that has died: perhaps of them. */
export class Trials {
  readonly #store: Pick<Store, 'noteTries'>
  readonly #maxTakeOvers: number
  /** Those that have been tried before are executed one after the other: the others would die with the one that is to blame. */
  readonly #lane = new Lanes(1)
  readonly #open = new Set<Trial>()

  constructor(store: Pick<Store, 'noteTries'>, maxTakeOvers: number) {
    this.#store = store
    this.#maxTakeOvers = maxTakeOvers
  }

  /** Resolves when it is the run's turn; undefined for a run that needs no trial. */
  async open(runId: string, { epoch, tries, hasDied }: Taken): Promise<Trial | undefined> {
    if (tries === 0 && !hasDied) return undefined
    if (tries > 0) await this.#lane.enter(false)
    const trial = new Trial(this.#store, { runId, epoch, tries }, tries > 0 ? () => this.#lane.leave() : () => {})
    this.#open.add(trial)
    try {
      // Before anything else: to read what is recorded may be what kills.
      await this.#store.noteTries(runId, epoch, tries + 1)
    } catch (error) {
      this.end(trial)
      throw error
    }
    return trial
  }

  end(trial: Trial): void {
    trial.leave()
    this.#open.delete(trial)
  }

  /** What is to be noted of the runs under trial by a process that lets go of them and lives. */
  counts(): RunTries[] {
    return [...this.#open].map(({ untried }) => untried)
  }

  /** Why a run is not tried once more. */
  refusal({ tries }: Taken): string | undefined {
    if (tries < this.#maxTakeOvers) return undefined
    return `${tries} processes in a row that took it over have died before anything more was recorded (\`maxTakeOvers\`)`
  }

  /** Whether a process has died of that refusal too, which tells listeners of the run's end and leads there over what is recorded. */
  isGivenUp({ tries }: Taken): boolean {
    return tries > this.#maxTakeOvers
  }
}

/** One execution of such a run. It counts until a step was recorded, or it has come to wait. */
export class Trial {
  readonly #store: Pick<Store, 'noteTries'>
  readonly #leave: () => void
  #untried: RunTries
  #hasLeft = false

  constructor(store: Pick<Store, 'noteTries'>, before: RunTries, leave: () => void) {
    this.#store = store
    this.#untried = before
    this.#leave = leave
  }

  /** What is noted if it breaks off, or its journal is closed: its process lives, so it does not count. */
  get untried(): RunTries {
    return this.#untried
  }

  /** The run is no longer suspected. */
  async pass(): Promise<void> {
    if (this.#hasLeft) return
    this.leave()
    const { runId, epoch } = this.#untried
    this.#untried = { runId, epoch, tries: 0 }
    await this.#store.noteTries(runId, epoch, 0)
  }

  /** Lets the next have its turn. */
  leave(): void {
    if (!this.#hasLeft) this.#leave()
    this.#hasLeft = true
  }
}
