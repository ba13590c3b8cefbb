import { Lanes } from '../../tools/concurrency.ts'
import type { Store, Taken } from './store.ts'

/** The runs of a process that were taken over from one that has died: perhaps of them. */
export class Trials {
  readonly #store: Pick<Store, 'noteTries'>
  readonly #maxTakeOvers: number
  /** Those that have been tried before are executed one after the other: the others would die with the one that is to blame. */
  readonly #lane = new Lanes(1)

  constructor(store: Pick<Store, 'noteTries'>, maxTakeOvers: number) {
    this.#store = store
    this.#maxTakeOvers = maxTakeOvers
  }

  /** Resolves when it is the run's turn; undefined for a run that needs no trial. */
  async open(runId: string, { epoch, tries, hasDied }: Taken): Promise<Trial | undefined> {
    if (tries === 0 && !hasDied) return undefined
    if (tries > 0) await this.#lane.enter(false)
    const leave = tries > 0 ? () => this.#lane.leave() : () => {}
    return new Trial((count) => this.#store.noteTries(runId, epoch, count), tries, leave)
  }

  /** Why a run is not tried once more. */
  refusal({ tries }: Taken): string | undefined {
    if (tries < this.#maxTakeOvers) return undefined
    return `${tries} processes in a row that took it over have died before anything more was recorded (\`maxTakeOvers\`)`
  }
}

/** One execution of such a run. It counts from when it begins to do something until it has recorded that. */
export class Trial {
  readonly #note: (tries: number) => Promise<void>
  readonly #tries: number
  readonly #leave: () => void
  #begun: Promise<void> | undefined
  #hasLeft = false

  constructor(note: (tries: number) => Promise<void>, tries: number, leave: () => void) {
    this.#note = note
    this.#tries = tries
    this.#leave = leave
  }

  /** Before a step is carried out. */
  begin(): Promise<void> {
    this.#begun ??= this.#note(this.#tries + 1)
    return this.#begun
  }

  /** A step was recorded: it is no longer suspected. */
  async pass(): Promise<void> {
    if (this.#hasLeft) return
    this.leave()
    await this.#note(0)
  }

  /** Lets the next have its turn. */
  leave(): void {
    if (!this.#hasLeft) this.#leave()
    this.#hasLeft = true
  }
}
