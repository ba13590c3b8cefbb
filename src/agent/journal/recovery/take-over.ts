import { InvalidOptionError } from '../../../core/errors.ts'

/** How a process resumes runs that no living process executes. */
export interface TakeOverOptions {
  /** Time between two looks, in milliseconds. */
  everyMs: number
  /** Maximum number of resumed runs that are executed at once. */
  concurrency: number
}

/** The options of a journal as its users give them, checked; undefined if only `recover()` resumes runs. Throws `invalid_option`. */
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

/** The parts of a journal that this needs. */
interface TakenOver {
  /** Runs that could continue and that no process executes. */
  pending(): Promise<string[]>
  /** Resumes a run. Settles when it has ended, waits, or broke off, and at once if another process was faster. */
  execute(runId: string): Promise<unknown>
}

/** A run that breaks off repeatedly is tried less and less often, but at least this often, in milliseconds. */
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
      // The store fails. Its users get the error; this looks again soon.
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
      // The journal has noted why.
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
