import { ToolloopError } from '../../../core/errors.ts'
import { HttpProblem } from '../../http/problem.ts'

/** A run that was to go on here is carried out by another process. */
export class RunsElsewhere extends Error {
  /** Whether what was decided on it has been stored. */
  readonly isDecided: boolean

  constructor(runId: string, isDecided: boolean) {
    super(`Another process executes run ${runId}`)
    this.isDecided = isDecided
  }
}

/** Whether the journal doesn't know the run: it is done, and has been deleted there. */
export function isUnknownRun(error: unknown): boolean {
  return ToolloopError.isInstance(error) && error.code === 'unknown_run'
}

/** Whether another process has taken the run over. */
export function isTakenOver(error: unknown): boolean {
  return ToolloopError.isInstance(error) && error.code === 'run_taken_over'
}

/** Whether what is stored can't be read or written, or the journal has given the run to another: nothing more can be recorded here. */
export function isJournalFault(error: unknown): boolean {
  return ToolloopError.isInstance(error) && ['journal_failed', 'run_taken_over', 'session_failed'].includes(error.code)
}

/** A fault of the journal as an `HttpProblem` 503; anything else as it is. */
export function notStored(what: string, cause: unknown): unknown {
  if (!isJournalFault(cause)) return cause
  return new HttpProblem(503, 'not_stored', `${what} could not be stored and was not applied`, { cause })
}

export function notWaiting({ id }: { id: string }, status: string): HttpProblem {
  return new HttpProblem(409, 'not_waiting', `Run ${id} does not wait for a decision: it is ${status}`)
}
