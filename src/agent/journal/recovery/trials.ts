import { addAbortListener } from 'node:events'
import { Lanes } from '../../../tools/concurrency.ts'
import type { RunTries, Store, Taken } from '../store.ts'

/**
 * How long a run is alone on trial, in milliseconds. Almost no time after the first deaths: most runs are innocent and must not wait for
 * one another. The more processes died with a run, the longer, so that it takes no other runs with it.
 */
const aloneMs = (tries: number) => Math.min(10 * 3 ** (tries - 1), 60_000)

/** The runs that were taken over from a process that has died, perhaps because of one of them. */
export class Trials {
  readonly #store: Pick<Store, 'noteTries'>
  readonly #maxTakeOvers: number
  /** Runs that were tried before start one after another, so that the one to blame takes no others with it. */
  readonly #lane = new Lanes(1)
  readonly #open = new Set<Trial>()

  constructor(store: Pick<Store, 'noteTries'>, maxTakeOvers: number) {
    this.#store = store
    this.#maxTakeOvers = maxTakeOvers
  }

  /**
   * Resolves when it is the run's turn, or if `signal` is aborted, because a run that only ends waits for no other. Undefined for a run
   * that needs no trial.
   */
  async open(runId: string, { epoch, tries, hasDied }: Taken, signal: AbortSignal): Promise<Trial | undefined> {
    if (tries === 0 && !hasDied) return undefined
    const leave = tries > 0 ? await this.#takeTurn(aloneMs(tries), signal) : () => {}
    const trial = new Trial(this.#store, { runId, epoch, tries }, leave)
    this.#open.add(trial)
    try {
      // Noted before anything else: reading the record may be what kills the process.
      await this.#store.noteTries(runId, epoch, tries + 1)
    } catch (error) {
      this.end(trial)
      throw error
    }
    return trial
  }

  /** Resolves with the function that ends the turn. The turn also ends after that time. */
  async #takeTurn(longestMs: number, signal: AbortSignal): Promise<() => void> {
    const turn = this.#lane.enter(false)
    const aborted = Promise.withResolvers<void>()
    const listener = addAbortListener(signal, () => aborted.resolve())
    await Promise.race([turn, aborted.promise])
    listener[Symbol.dispose]()
    if (signal.aborted) {
      void turn.then(() => this.#lane.leave())
      return () => {}
    }
    let hasLeft = false
    const leave = () => {
      clearTimeout(timer)
      if (!hasLeft) this.#lane.leave()
      hasLeft = true
    }
    const timer = setTimeout(leave, longestMs)
    return leave
  }

  end(trial: Trial): void {
    trial.leave()
    this.#open.delete(trial)
  }

  /** The tries to note if the process releases its runs under trial and lives. */
  counts(): RunTries[] {
    return [...this.#open].map(({ untried }) => untried)
  }

  /** Why a run is not tried once more. */
  refusal({ tries }: Taken): string | undefined {
    if (tries < this.#maxTakeOvers) return undefined
    return `${tries} processes in a row that took it over have died before anything more was recorded (\`maxTakeOvers\`)`
  }

  /** Whether a process has died of that refusal, too. The refusal replays the record to emit the run's end. */
  isGivenUp({ tries }: Taken): boolean {
    return tries > this.#maxTakeOvers
  }
}

/** One execution of such a run. Its try counts until a step was recorded, or the run waits. */
export class Trial {
  readonly #store: Pick<Store, 'noteTries'>
  /** Lets the next run have its turn. May be called more than once. */
  readonly leave: () => void
  #untried: RunTries
  #hasPassed = false

  constructor(store: Pick<Store, 'noteTries'>, before: RunTries, leave: () => void) {
    this.#store = store
    this.#untried = before
    this.leave = leave
  }

  /** The tries to note if it breaks off, or its journal is closed. The process lives, so this try does not count. */
  get untried(): RunTries {
    return this.#untried
  }

  /** The run is no longer suspected. */
  async pass(): Promise<void> {
    if (this.#hasPassed) return
    this.#hasPassed = true
    this.leave()
    const { runId, epoch } = this.#untried
    this.#untried = { runId, epoch, tries: 0 }
    await this.#store.noteTries(runId, epoch, 0)
  }
}
