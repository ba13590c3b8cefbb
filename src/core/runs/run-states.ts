import type { StopReason } from '../events.ts'

/**
 * The state of a run. `running`: the run is executed, or will be resumed. `waiting`: the run has paused until a decision is made. Its stop
 * reason is `paused`. `ended`: the run has its final result.
 */
export type RunStatus = 'running' | 'waiting' | 'ended'

/** All values of `RunStatus`. */
export const runStatuses: readonly RunStatus[] = ['running', 'waiting', 'ended']

export function isRunStatus(status: unknown): status is RunStatus {
  return runStatuses.some((known) => known === status)
}

/**
 * The state of a call. `writing`: the model is writing the call, or the call has not started to run. `waiting`: the call waits for a
 * decision, or for the decision to take effect. `ended`: the call has an outcome.
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
