import type { PendingItem } from '../../agent/types/result.ts'
import { ToolloopError } from '../../core/errors.ts'
import type { StopReason } from '../../core/events.ts'
import type { Usage } from '../../core/messages.ts'

/** What a client is told of how a run ended. */
export interface RunEnding {
  runId?: string
  /** Undefined: it could not be started. */
  stopReason?: StopReason
  /** The answer as text; partial text when the run ended early. */
  text: string
  /** What the schema of the output made of the answer, where there is one. */
  output?: unknown
  usage?: Usage
  iterations?: number
  pending: readonly PendingItem[]
  error?: { code: string; message: string }
}

/** A run that is over: what it came to, and the error as it was thrown. */
export interface EndedRun {
  ending: Omit<RunEnding, 'error'>
  error?: unknown
}

/** `errorText`: what is said of an error. */
export function toldEnding({ ending, error }: EndedRun, errorText: (error: unknown) => string): RunEnding {
  if (error === undefined) return ending
  return { ...ending, error: { code: ToolloopError.isInstance(error) ? error.code : 'internal_error', message: errorText(error) } }
}
