import { messageOf } from '../../../core/errors.ts'
import type { Logger } from '../../../core/logger.ts'
import { type RunBounds, tooLate } from '../../run-bounds.ts'
import type { ServiceRun } from '../service-run.ts'
import { isUnknownRun, RunsElsewhere } from './problems.ts'
import { type RecordedRuns, settledWithinMs } from './recorded-runs.ts'

/** How often it is looked for runs that could go on, and for what is to be tidied up, in milliseconds. */
const lookEveryMs = 1_000
const tidyEveryMs = 5_000
/** How soon a run that could not go on is tried again, at first and at last. */
const firstRetryMs = 1_000
const lastRetryMs = 60_000
/** How long a run that has ended, and is not shown at all, stays in the journal. */
const keptInJournalMs = 60_000
/** Runs that are taken up at once. */
const takenUpAtOnce = 32

interface CaretakerParts {
  runs: RecordedRuns
  bounds(): RunBounds
  isHere(runId: string): boolean
  /** Goes on with a run; resolves when it has begun to. */
  carryOn(run: ServiceRun): Promise<void>
  /** Old runs have been deleted. */
  tidied(): Promise<void>
  logger: Logger
}

/**
 * Looks after the runs in the journal, whichever process they began in: goes on with those whose process has died, or that were decided while
 * nobody was there; gives up those that nobody decides on; deletes what is old.
 */
export class Caretaker {
  readonly #parts: CaretakerParts
  /** Runs that could not go on: when they are tried again, by `performance.now()`. */
  readonly #retries = new Map<string, { at: number; delayMs: number }>()
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #tidiedAt = Number.NEGATIVE_INFINITY
  #isClosed = false
  #problem: string | undefined

  constructor(parts: CaretakerParts) {
    this.#parts = parts
  }

  /** Looks now, and again and again from then on. */
  start(): void {
    clearTimeout(this.#timer)
    if (this.#isClosed) return
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
      if (!this.#isClosed && problem !== this.#problem) this.#parts.logger.error({ error }, 'the stored runs can’t be looked after')
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
      // Given up: it ends in the journal as well.
      if (run.status === 'ended') await runs.engine.start(runId)
      else await carryOn(run)
      this.#retries.delete(runId)
    } catch (error) {
      if (error instanceof RunsElsewhere || isUnknownRun(error) || this.#isClosed) return
      const delayMs = Math.min(lastRetryMs, (this.#retries.get(runId)?.delayMs ?? firstRetryMs / 2) * 2)
      this.#retries.set(runId, { at: performance.now() + delayMs, delayMs })
      logger.error({ runId, error, retryMs: delayMs }, 'a run of an earlier process can not go on yet')
    }
  }

  async #tidy(): Promise<void> {
    const { shown, engine } = this.#parts.runs
    for (const runId of await shown.unsettled(settledWithinMs)) await this.#settle(runId)
    await this.forgetOld()
    await shown.clear()
    await engine.prune?.({ olderThanMs: keptInJournalMs })
    for (const [runId, { at }] of this.#retries) if (at < performance.now() - lastRetryMs) this.#retries.delete(runId)
    await this.#parts.tidied()
    this.#tidiedAt = performance.now()
  }

  async #settle(runId: string): Promise<void> {
    const { runs, isHere, logger } = this.#parts
    try {
      if (!isHere(runId)) await runs.settleFromJournal(runId)
    } catch (error) {
      // The others are settled nevertheless.
      if (!this.#isClosed) logger.error({ runId, error }, 'what became of a run can not be shown yet')
    }
  }

  /** Gives up runs that nobody has decided on, and deletes those that are beyond their bounds. */
  async forgetOld(): Promise<void> {
    const { runs, bounds } = this.#parts
    const { waitingMs, count, ageMs, characters, recordingCharacters } = bounds()
    const late = { waitingForMs: waitingMs }
    for (let given = 1; given > 0; ) given = (await runs.shown.giveUp(late, { code: 'aborted', message: tooLate })).length
    await runs.shown.forget({ runs: count, ageMs, characters, recordingCharacters })
  }
}
