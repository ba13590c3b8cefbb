import { addAbortListener } from 'node:events'
import { Lanes } from '../../../tools/concurrency.ts'
import type { RunTries, Store, Taken } from '../store.ts'

/**
 * How long a run is alone on trial, in milliseconds. After the first deaths hardly at all: most runs are innocent, and must not wait for one another.
 * The more processes died with it, the longer: the one to blame shall take no others with it.
 */
const aloneMs = (tries: number) => Math.min(10 * 3 ** (tries - 1), 60_000)

/** The runs of a process that were taken over from one that has died: perhaps of them. */
export class Trials {
  readonly #store: Pick<Store, 'noteTries'>
  readonly #maxTakeOvers: number
  /** Those that have been tried before start one after the other: the others would die with the one that is to blame. */
  readonly #lane = new Lanes(1)
  readonly #open = new Set<Trial>()

  constructor(store: Pick<Store, 'noteTries'>, maxTakeOvers: number) {
    this.#store = store
    this.#maxTakeOvers = maxTakeOvers
  }

  /** Resolves when it is the run's turn, or if `signal` is aborted: a run that only ends waits for no other. Undefined for a run that needs no trial. */
  async open(runId: string, { epoch, tries, hasDied }: Taken, signal: AbortSignal): Promise<Trial | undefined> {
    if (tries === 0 && !hasDied) return undefined
    const leave = tries > 0 ? await this.#takeTurn(aloneMs(tries), signal) : () => {}
    const trial = new Trial(this.#store, { runId, epoch, tries }, leave)
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

  /** Resolves with what ends the turn, which ends by itself after that time. */
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
  /** Lets the next have its turn; more than once does no harm. */
  readonly leave: () => void
  #untried: RunTries
  #hasPassed = false

  constructor(store: Pick<Store, 'noteTries'>, before: RunTries, leave: () => void) {
    this.#store = store
    this.#untried = before
    this.leave = leave
  }

  /** What is noted if it breaks off, or its journal is closed: its process lives, so it does not count. */
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
