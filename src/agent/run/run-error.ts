import { isSetupFault, messageOf, ToolloopError } from '../../core/errors.ts'
import type { RunResult } from './result.ts'

/**
 * A run that ended with an error, where that is thrown: with `throwOnError`, and when a model in the middle of a run turned out not to be
 * set up. `code` and `fault` are those of the error, which is the `cause`.
 */
export class RunError extends ToolloopError {
  override readonly name = 'RunError'
  /** What the run had come to: its messages, usage and calls. Not shown when the error is logged. */
  declare readonly result: RunResult<unknown>

  constructor(result: RunResult<unknown>, cause: ToolloopError) {
    super(cause.code, `The run ended with \`${result.stopReason}\`: ${cause.message}`, { cause })
    Object.defineProperty(this, 'result', { value: result })
  }
}

/** The result, where it is to be returned. Throws a `RunError` else. */
export function returned<Output>(result: RunResult<Output>, { throwOnError = false }: { throwOnError?: boolean }): RunResult<Output> {
  const { error } = result
  if (error !== undefined && (throwOnError || isSetupFault(error))) throw new RunError(result, error)
  return result
}

/** Why a run was aborted, of the reason its signal was given. */
export function abortErrorOf(reason: unknown): ToolloopError {
  if (isSetupFault(reason)) return reason
  // What `controller.abort()` gives for a reason of its own says nothing.
  const isDefault = reason instanceof DOMException && reason.name === 'AbortError' && reason.message === 'This operation was aborted'
  const why = reason === undefined || isDefault ? '' : `: ${messageOf(reason)}`
  return new ToolloopError('aborted', `The run was aborted${why}`, { cause: reason })
}
