import { ToolloopError } from '../errors.ts'
import { hashOf } from './decisions.ts'
import type { RunState } from './paused-run.ts'

/** A paused state that is about to be gone on from. */
export interface ResumeClaim {
  runId: string
  /** The same for every copy of this state, and for no other: a later pause of the same run has another one. */
  key: string
}

/** Says whether this caller is the one that goes on: true for the first that asks with a key, false for every later one. */
export type Claim = (claim: ResumeClaim) => boolean | Promise<boolean>

/** States that are being gone on from in this process. */
const claimed = new Set<string>()

/**
 * Does `work` unless somebody else goes on from the same state: in this process at the same time, or, where the host is asked, anywhere.
 * Rejects with `already_resumed` then, and with what `claim` throws; nothing has happened in either case.
 */
export async function withClaim<T>(state: RunState, claim: Claim | undefined, work: () => Promise<T>): Promise<T> {
  const { runId } = state
  const key = hashOf([runId, Object.keys(state.steps).sort(), Object.keys(state.decisions).sort()])
  if (claimed.has(key)) throw alreadyResumed(runId)
  claimed.add(key)
  try {
    if (claim !== undefined && (await claim({ runId, key })) !== true) throw alreadyResumed(runId)
    return await work()
  } finally {
    claimed.delete(key)
  }
}

function alreadyResumed(runId: string): ToolloopError {
  return new ToolloopError(
    'already_resumed',
    `Expected to be the only one to resume this state of run \`${runId}\`, another caller was first`,
  )
}
