import { isSetupFault, ModelError, messageOf, ToolloopError } from '../../core/errors.ts'
import type { ChatModel } from '../../models/chat-model.ts'
import type { PlainError } from '../types/recorded.ts'
import type { RunResult } from '../types/result.ts'

/**
 * The error of a run. Thrown if `throwOnError` is set, or if the run switches to a model that is not set up. The error has the `code` and
 * the `fault` of its `cause`.
 */
export class RunError extends ToolloopError {
  override readonly name = 'RunError'
  /** The result of the run so far: its messages, usage and calls. The log does not contain it. */
  declare readonly result: RunResult<unknown>

  constructor(result: RunResult<unknown>, cause: ToolloopError) {
    super(cause.code, `The run ended with \`${result.stopReason}\`: ${cause.message}`, { cause })
    Object.defineProperty(this, 'result', { value: result })
  }
}

/** Returns the result. Throws a `RunError` instead if the result has an error and `throwOnError` is set, or if a model is not set up. */
export function returned<Output>(result: RunResult<Output>, { throwOnError = false }: { throwOnError?: boolean }): RunResult<Output> {
  const { error } = result
  if (error !== undefined && (throwOnError || isSetupFault(error))) throw new RunError(result, error)
  return result
}

/** The default message of `controller.abort()`. It says nothing about the reason. */
const defaultReason = 'This operation was aborted'

/** Creates the error of an aborted run from the reason of the signal. */
export function abortErrorOf(reason: unknown): ToolloopError {
  if (isSetupFault(reason)) return reason
  const why = reason === undefined ? defaultReason : messageOf(reason)
  return new ToolloopError('aborted', `The run was aborted${why === defaultReason ? '' : `: ${why}`}`, { cause: reason })
}

/** The parts of a run that are needed for its errors. */
export interface Failed {
  readonly abortError: ToolloopError | undefined
  /** Errors as they were thrown, by step key. */
  readonly errors: ReadonlyMap<string, ToolloopError>
  readonly agent: { readonly model: Pick<ChatModel, 'provider' | 'model'> }
}

/** Returns a run's error as it was thrown, with its stack and cause. If another process threw it, creates an error from the record. */
export function errorOf({ abortError, errors, agent }: Failed, { code, message }: PlainError): ToolloopError {
  if (code === 'aborted') return abortError ?? new ToolloopError(code, message)
  const thrown = [...errors.values()].findLast((error) => error.code === code && error.message === message)
  if (thrown !== undefined) return thrown
  const { provider, model } = agent.model
  if (code === 'guardrail' || code === 'hook_failed') return new ToolloopError(code, message)
  return new ModelError(code, message, { provider, model, retryable: false })
}
