import { addAbortListener } from 'node:events'
import { InvalidOptionError } from '../../core/errors.ts'
import { Lanes } from '../../tools/concurrency.ts'
import { isTakenOver, type RunTries, type Store, type Taken } from './store.ts'

/** The arguments of `Store.release` for a failed execution, and the values that still have to be recorded. */
export interface Release {
  args: Parameters<Store['release']>
  /** Functions that record the values that could not be recorded before. */
  unrecorded: (() => Promise<void>)[]
}

/**
 * Runs whose execution failed and that the store could not release. No other process continues a run before the run is released, because
 * calls whose ends are not recorded would run again.
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

  /** Releases the run. If the release fails, `retry` tries again. */
  async add(release: Release): Promise<void> {
    const [runId] = release.args
    this.#left.set(runId, release)
    await this.settle(runId).catch(() => {})
  }

  async retry(): Promise<void> {
    for (const runId of this.#left.keys()) await this.settle(runId).catch(() => {})
  }

  /** Resolves when the run has been released. Rejects with the store's error. */
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

/**
 * How long a run that was taken over from a dead process is executed alone, in milliseconds. The time grows with the number of processes
 * that have died, so that a run that kills its process interrupts no other runs. After the first deaths, the time is short, because most
 * runs did not cause them.
 */
const aloneMs = (tries: number) => Math.min(10 * 3 ** (tries - 1), 60_000)

/** Runs that were taken over from a process that died. One of these runs may have caused the death of the process. */
export class Trials {
  readonly #store: Pick<Store, 'noteTries'>
  readonly #maxTakeOvers: number
  /** Runs with an earlier try start one after another, so that a run that kills its process interrupts no other runs. */
  readonly #lane = new Lanes(1)
  readonly #open = new Set<Trial>()

  constructor(store: Pick<Store, 'noteTries'>, maxTakeOvers: number) {
    this.#store = store
    this.#maxTakeOvers = maxTakeOvers
  }

  /**
   * Begins a trial. Resolves with undefined for a run that needs no trial. Otherwise resolves when it is the run's turn. If `signal` is
   * aborted, resolves at once, because a run that only has to end need not wait.
   */
  async open(runId: string, { epoch, tries, hasDied }: Taken, signal: AbortSignal): Promise<Trial | undefined> {
    if (tries === 0 && !hasDied) return undefined
    const leave = tries > 0 ? await this.#takeTurn(aloneMs(tries), signal) : () => {}
    const trial = new Trial(this.#store, { runId, epoch, tries }, leave)
    this.#open.add(trial)
    try {
      // The try is stored first, because even reading the record may kill the process.
      await this.#store.noteTries(runId, epoch, tries + 1)
    } catch (error) {
      this.end(trial)
      throw error
    }
    return trial
  }

  /** Resolves with the function that ends the turn. The turn also ends after `longestMs`. */
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

  /** For each run on trial: the tries to store when this process releases the run. */
  counts(): RunTries[] {
    return [...this.#open].map(({ untried }) => untried)
  }

  /** The reason not to try the run again. Undefined if it may be tried. */
  refusal({ tries }: Taken): string | undefined {
    if (tries < this.#maxTakeOvers) return undefined
    return `${tries} processes in a row that took it over have died before anything more was recorded (\`maxTakeOvers\`)`
  }

  /** Whether a process died while it refused the run. To refuse a run, a process replays the record and emits the end of the run. */
  isGivenUp({ tries }: Taken): boolean {
    return tries > this.#maxTakeOvers
  }
}

/** One execution of a run on trial. The try counts until a step is recorded or the run waits. */
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

  /** The tries to store if the execution fails or the journal is closed. This execution does not count, because the process is alive. */
  get untried(): RunTries {
    return this.#untried
  }

  /** Ends the trial. The process has survived the run. */
  async pass(): Promise<void> {
    if (this.#hasPassed) return
    this.#hasPassed = true
    this.leave()
    const { runId, epoch } = this.#untried
    this.#untried = { runId, epoch, tries: 0 }
    await this.#store.noteTries(runId, epoch, 0)
  }
}

/** Options for resuming runs that no living process executes. */
export interface TakeOverOptions {
  /** Time between two checks, in milliseconds. */
  everyMs: number
  /** Maximum number of resumed runs that are executed at once. */
  concurrency: number
}

/**
 * Checks the options `takeOverEveryMs` and `takeOverConcurrency` of a journal. Throws `invalid_option` for an invalid value. Undefined if
 * `takeOverEveryMs` is `Infinity`: only `recover()` then resumes runs.
 */
export function checkedTakeOver({
  takeOverEveryMs = 2_000,
  takeOverConcurrency = 100,
}: {
  takeOverEveryMs?: number | undefined
  takeOverConcurrency?: number | undefined
}): TakeOverOptions | undefined {
  if (!(takeOverEveryMs >= 100)) throw new InvalidOptionError('takeOverEveryMs', 'milliseconds ≥ 100', takeOverEveryMs)
  if (!Number.isSafeInteger(takeOverConcurrency) || takeOverConcurrency < 1) {
    throw new InvalidOptionError('takeOverConcurrency', 'an integer ≥ 1', takeOverConcurrency)
  }
  return takeOverEveryMs < Number.POSITIVE_INFINITY ? { everyMs: takeOverEveryMs, concurrency: takeOverConcurrency } : undefined
}

/** The methods of a journal that `TakeOver` uses. */
interface TakenOver {
  /** Ids of runs that can continue and that no process executes. */
  pending(): Promise<string[]>
  /** Resumes a run, and settles when the execution is over. Settles at once if another process executes the run. */
  execute(runId: string): Promise<unknown>
}

/** The longest pause between two executions of a run that fails repeatedly, in milliseconds. */
const longestPauseMs = 300_000

/** Periodically looks for runs that no process executes, and resumes them. */
export class TakeOver {
  readonly #options: TakeOverOptions
  readonly #runs: TakenOver
  readonly #failures = new Map<string, { times: number; notBefore: number }>()
  #timer: NodeJS.Timeout | undefined
  #running = 0
  #hasEnded = false

  constructor(options: TakeOverOptions, runs: TakenOver) {
    this.#options = options
    this.#runs = runs
  }

  begin(): void {
    // The timer must not keep the process from ending.
    if (!this.#hasEnded) this.#timer ??= setTimeout(() => void this.#look(), this.#options.everyMs).unref()
  }

  end(): void {
    this.#hasEnded = true
    clearTimeout(this.#timer)
  }

  async #look(): Promise<void> {
    try {
      const pending = new Set(await this.#runs.pending())
      for (const runId of this.#failures.keys()) if (!pending.has(runId)) this.#failures.delete(runId)
      for (const runId of pending) {
        if (this.#hasEnded || this.#running >= this.#options.concurrency) break
        const { notBefore = 0 } = this.#failures.get(runId) ?? {}
        if (notBefore <= performance.now()) void this.#takeUp(runId)
      }
    } catch {
      // A failure of the store is ignored, because callers of the journal get the error, and the next check follows soon.
    }
    this.#timer = undefined
    this.begin()
  }

  async #takeUp(runId: string): Promise<void> {
    this.#running++
    try {
      await this.#runs.execute(runId)
      this.#failures.delete(runId)
    } catch {
      // The journal has recorded the error. The run is tried again later.
      this.#postpone(runId)
    } finally {
      this.#running--
    }
  }

  #postpone(runId: string): void {
    const times = (this.#failures.get(runId)?.times ?? 0) + 1
    const pause = Math.min(this.#options.everyMs * 2 ** times, longestPauseMs)
    this.#failures.set(runId, { times, notBefore: performance.now() + pause })
  }
}
