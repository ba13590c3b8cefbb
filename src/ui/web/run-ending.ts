import type { PendingItem } from '../../agent/types/result.ts'
import { ToolloopError } from '../../core/errors.ts'
import type { StopReason } from '../../core/events.ts'
import type { Usage } from '../../core/messages.ts'

/** How a run ended, in the form that is sent to a client. */
export interface RunEnding {
  runId?: string
  /** The stop reason. Undefined if the run could not be started. */
  stopReason?: StopReason
  /** The answer as text. If the run ended early, the text may be partial. */
  text: string
  /** The validated output, if the run has an output schema. */
  output?: unknown
  usage?: Usage
  iterations?: number
  pending: readonly PendingItem[]
  error?: { code: string; message: string }
}

/** A run that has ended, with the error as it was thrown. */
export interface EndedRun {
  ending: Omit<RunEnding, 'error'>
  error?: unknown
}

/** Returns the ending of a run as it is sent to a client. `errorText` returns the text of an error for the client. */
export function toldEnding({ ending, error }: EndedRun, errorText: (error: unknown) => string): RunEnding {
  if (error === undefined) return ending
  return { ...ending, error: { code: ToolloopError.isInstance(error) ? error.code : 'internal_error', message: errorText(error) } }
}
