/**
 * The state of a run. `running`: it is executed, or will be resumed. `waiting`: it is not executed until somebody has decided; its stop reason is
 * `paused` meanwhile. `ended`: it has a result, and nothing follows.
 */
export type RunStatus = 'running' | 'waiting' | 'ended'

/** Every `RunStatus`. */
export const runStatuses: readonly RunStatus[] = ['running', 'waiting', 'ended']

export function isRunStatus(status: unknown): status is RunStatus {
  return runStatuses.some((known) => known === status)
}

/**
 * The state of a call. `writing`: the model is writing it, or it has not begun to run. `waiting`: for somebody's decision, or for that to be carried
 * out. `ended`: it has an outcome.
 */
export type CallStatus = 'writing' | 'running' | 'waiting' | 'ended'
