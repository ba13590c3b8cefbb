import type { StopReason } from '../events.ts'

/**
 * The state of a run. `running`: it is executed, or will be resumed. `waiting`: it has paused until a decision is made, with the stop
 * reason `paused`. `ended`: it has a result and is final.
 */
export type RunStatus = 'running' | 'waiting' | 'ended'

/** Every `RunStatus`. */
export const runStatuses: readonly RunStatus[] = ['running', 'waiting', 'ended']

export function isRunStatus(status: unknown): status is RunStatus {
  return runStatuses.some((known) => known === status)
}

/**
 * The state of a call. `writing`: the model is writing it, or it has not started to run. `waiting`: for a decision, or for the decision to
 * take effect. `ended`: it has an outcome.
 */
export type CallStatus = 'writing' | 'running' | 'waiting' | 'ended'

const failed: Readonly<Record<StopReason, boolean>> = {
  answered: false,
  truncated: true,
  max_iterations: true,
  budget: true,
  deadline: true,
  aborted: false,
  paused: false,
  stopped: false,
  repeated_calls: true,
  refused: true,
  model_error: true,
}

/** The stop reasons that count as failures in overviews. */
export const failures: ReadonlySet<string> = new Set(Object.entries(failed).flatMap(([reason, isFailure]) => (isFailure ? [reason] : [])))
