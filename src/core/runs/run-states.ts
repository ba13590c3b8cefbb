/**
 * How a run stands. `waiting`: it is executed nowhere until somebody has decided; its stop reason is `paused` meanwhile. `ended`: it has a result,
 * and nothing follows.
 */
export type RunStatus = 'running' | 'waiting' | 'ended'

/** Every `RunStatus`. */
export const runStatuses: readonly RunStatus[] = ['running', 'waiting', 'ended']
