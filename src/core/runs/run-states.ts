/**
 * How a run stands. `waiting`: it is executed nowhere until somebody has decided; its stop reason is `paused` meanwhile. `ended`: it has a result,
 * and nothing follows.
 */
export type RunStatus = 'running' | 'waiting' | 'ended'

/** Every `RunStatus`. */
export const runStatuses: readonly RunStatus[] = ['running', 'waiting', 'ended']

/**
 * How a call stands. `writing`: the model is writing it, or it has not begun to run. `waiting`: for somebody's decision, or for that to be carried
 * out. `ended`: it has an outcome.
 */
export type CallStatus = 'writing' | 'running' | 'waiting' | 'ended'
