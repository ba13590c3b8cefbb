import { messageOf } from '../../../core/errors.ts'
import type { Logger } from '../../../core/logger.ts'
import { type RunBounds, tooLate } from '../../run-bounds.ts'
import type { ServiceRun } from '../service-run.ts'
import { isUnknownRun, RunsElsewhere } from './problems.ts'
import { type RecordedRuns, settledWithinMs } from './recorded-runs.ts'

/** How often the caretaker looks for runs to resume, and for data to delete, in milliseconds. */
const lookEveryMs = 1_000
const tidyEveryMs = 5_000
/** The first and the longest delay between attempts to resume a run, in milliseconds. */
const firstRetryMs = 1_000
const lastRetryMs = 60_000
/** How long ended runs may stay in the journal, in milliseconds. */
const keptInJournalMs = 60_000
/** Maximum number of runs that are resumed at the same time. */
const takenUpAtOnce = 32

interface CaretakerParts {
  runs: RecordedRuns
  bounds(): RunBounds
  isHere(runId: string): boolean
  /** Resumes a run. Resolves when the run has started. If it rejects, the error is logged and the run is tried again later. */
  carryOn(run: ServiceRun): Promise<void>
  /** Called after old runs were deleted. If it rejects, the error is logged. */
  tidied(): Promise<void>
  logger: Logger
}

/**
 * Maintains the runs in the journal, including runs of other processes. Resumes runs whose process has died, and runs that were decided
 * while no process was running. Ends runs that have waited too long, and deletes old runs.
 */
export class Caretaker {
  readonly #parts: CaretakerParts
  /** The times at which to retry runs that could not be resumed, on the clock of `performance.now()`. */
  readonly #retries = new Map<string, { at: number; delayMs: number }>()
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #tidiedAt = Number.NEGATIVE_INFINITY
  #isClosed = false
  #problem: string | undefined

  constructor(parts: CaretakerParts) {
    this.#parts = parts
  }

  /** Checks the runs immediately and then once per interval. `isNew` means that the store is empty, so the first check is skipped. */
  start({ isNew = false }: { isNew?: boolean } = {}): void {
    clearTimeout(this.#timer)
    if (this.#isClosed) return
    if (isNew) {
      this.#timer = setTimeout(() => this.start(), lookEveryMs).unref()
      return
    }
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
      if (!this.#isClosed) this.#timer = setTimeout(() => this.start(), lookEveryMs).unref()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#looking
  }

  async #look(): Promise<void> {
    try {
      await this.#takeUp()
      if (performance.now() - this.#tidiedAt >= tidyEveryMs) await this.#tidy()
      this.#problem = undefined
    } catch (error) {
      const problem = messageOf(error)
      if (!this.#isClosed && problem !== this.#problem) this.#parts.logger.error({ error }, 'maintaining the stored runs failed')
      this.#problem = problem
    }
  }

  async #takeUp(): Promise<void> {
    const { runs, isHere } = this.#parts
    const now = performance.now()
    const open = (await runs.engine.pending()).filter((runId) => !isHere(runId) && (this.#retries.get(runId)?.at ?? 0) <= now)
    const next = open.values()
    const work = async () => {
      for (const runId of next) if (!this.#isClosed) await this.#takeUpOne(runId)
    }
    await Promise.all(Array.from({ length: Math.min(takenUpAtOnce, open.length) }, work))
  }

  async #takeUpOne(runId: string): Promise<void> {
    const { runs, isHere, carryOn, logger } = this.#parts
    try {
      const run = runs.followed.get(runId) ?? (await runs.recorded(runId))
      if (isHere(runId)) return
      // The run was cancelled. Starting it only ends it in the journal.
      if (run.status === 'ended') await runs.engine.start(runId)
      else await carryOn(run)
      this.#retries.delete(runId)
    } catch (error) {
      if (error instanceof RunsElsewhere || isUnknownRun(error) || this.#isClosed) return
      const delayMs = Math.min(lastRetryMs, (this.#retries.get(runId)?.delayMs ?? firstRetryMs / 2) * 2)
      this.#retries.set(runId, { at: performance.now() + delayMs, delayMs })
      logger.error({ runId, error, retryMs: delayMs }, 'a run of an earlier process can’t be resumed yet')
    }
  }

  async #tidy(): Promise<void> {
    const { shown } = this.#parts.runs
    if ((await shown.mayTidy?.(tidyEveryMs)) ?? true) await this.#tidyStore()
    for (const [runId, { at }] of this.#retries) if (at < performance.now() - lastRetryMs) this.#retries.delete(runId)
    await this.#parts.tidied()
    this.#tidiedAt = performance.now()
  }

  /** Deletes old data. The processes that share the store take turns. */
  async #tidyStore(): Promise<void> {
    const { shown, engine } = this.#parts.runs
    for (const runId of await shown.unsettled(settledWithinMs)) await this.#settle(runId)
    await this.forgetOld()
    await shown.clear()
    await engine.prune?.({ olderThanMs: keptInJournalMs })
  }

  async #settle(runId: string): Promise<void> {
    const { runs, isHere, logger } = this.#parts
    try {
      if (!isHere(runId)) await runs.settleFromJournal(runId)
    } catch (error) {
      // One failure must not prevent the other runs from being settled.
      if (!this.#isClosed) logger.error({ runId, error }, 'the outcome of a run can’t be stored yet')
    }
  }

  /** Ends runs that have waited too long for a decision, and deletes runs beyond the limits. */
  async forgetOld(): Promise<void> {
    const { runs, bounds } = this.#parts
    const { waitingMs, count, ageMs, characters, recordingCharacters } = bounds()
    const late = { waitingForMs: waitingMs }
    for (let given = 1; given > 0; ) given = (await runs.shown.giveUp(late, { code: 'aborted', message: tooLate })).length
    await runs.shown.forget({ runs: count, ageMs, characters, recordingCharacters })
  }
}
