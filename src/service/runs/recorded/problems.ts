import { ToolloopError } from '../../../core/errors.ts'
import { HttpProblem } from '../../http/problem.ts'

/** Thrown if a run can't be resumed here because another process executes it. */
export class RunsElsewhere extends Error {
  /** Whether the decisions on the run have been stored. */
  readonly isDecided: boolean

  constructor(runId: string, isDecided: boolean) {
    super(`Another process executes run ${runId}`)
    this.isDecided = isDecided
  }
}

/** Whether the error means that the journal no longer has the run. The run has then ended and was deleted. */
export function isUnknownRun(error: unknown): boolean {
  return ToolloopError.isInstance(error) && error.code === 'unknown_run'
}

/** Whether the error means that another process has taken over the run. */
export function isTakenOver(error: unknown): boolean {
  return ToolloopError.isInstance(error) && error.code === 'run_taken_over'
}

/**
 * Whether the error prevents this process from recording the run. Either the stored data can't be accessed, or another process has taken
 * over the run.
 */
export function isJournalFault(error: unknown): boolean {
  return ToolloopError.isInstance(error) && ['journal_failed', 'run_taken_over', 'session_failed'].includes(error.code)
}

/** Converts an error of the journal to an `HttpProblem` 503. Returns any other error unchanged. */
export function notStored(what: string, cause: unknown): unknown {
  if (!isJournalFault(cause)) return cause
  return new HttpProblem(503, 'not_stored', `${what} could not be stored and was not applied`, { cause })
}

export function notWaiting({ id }: { id: string }, status: string): HttpProblem {
  return new HttpProblem(409, 'not_waiting', `Run ${id} does not wait for a decision: it is ${status}`)
}
