import { ToolloopError } from '../../core/errors.ts'
import type { RunState } from '../types/result.ts'
import { hashOf } from './decisions.ts'

/** A paused state that is about to be resumed. */
export interface ResumeClaim {
  runId: string
  /** The same for every copy of this state, and for no other: a later pause of the same run has another one. */
  key: string
}

/** Whether this caller may continue: return true for the first caller with a key, and false for all others. */
export type Claim = (claim: ResumeClaim) => boolean | Promise<boolean>

/** The run that is about to go on. */
interface ResumedRun {
  /** A decided call was carried out. */
  readonly hasCarriedOut: boolean
  readonly interruption: 'aborted' | 'deadline' | undefined
  readonly abortError: ToolloopError | undefined
  untilInterrupted<T>(work: Promise<T>): Promise<T | undefined>
}

/** States that are being gone on from in this process. */
const claimed = new Set<string>()

/** The last states of which a decided call was carried out in this process, oldest first. */
const carriedOut = new Set<string>()
const mostCarriedOut = 10_000

/**
 * Does `work` unless somebody else goes on from the same state: in this process at the same time, or, where the host is asked, anywhere; or this
 * process has carried out before what was decided on it.
 * Rejects with `already_resumed` then, with what `claim` throws, and when the run is interrupted meanwhile; nothing has happened then.
 */
export async function withClaim<T>(
  run: ResumedRun,
  state: RunState,
  { claim, again }: { claim: Claim | undefined; again: boolean },
  work: () => Promise<T>,
): Promise<T> {
  const { runId } = state
  const key = hashOf([runId, Object.keys(state.steps).sort(), Object.keys(state.decisions).sort()])
  // Runs that were given the same id have not waited since the same moment.
  const stateKey = hashOf([key, state.waitingSince])
  if (claimed.has(key)) throw alreadyResumed(runId)
  // A claim decides by itself, here as anywhere.
  if (carriedOut.has(stateKey) && !again && claim === undefined) {
    const expected = 'continue with the `state` of that result, or pass `again: true` if the result was lost'
    throw new ToolloopError('already_resumed', `This state of run \`${runId}\` was resumed in this process before: ${expected}`)
  }
  claimed.add(key)
  try {
    if (claim !== undefined) {
      const isFirst = await run.untilInterrupted(Promise.resolve(claim({ runId, key })))
      if (run.interruption === 'deadline') throw new ToolloopError('deadline', 'The deadline passed before the state was claimed')
      if (run.interruption !== undefined) throw run.abortError ?? new ToolloopError('aborted', 'The run was aborted')
      if (isFirst !== true) throw alreadyResumed(runId)
    }
    return await work()
  } finally {
    claimed.delete(key)
    if (run.hasCarriedOut) remember(stateKey)
  }
}

function remember(stateKey: string): void {
  carriedOut.delete(stateKey)
  carriedOut.add(stateKey)
  const [oldest] = carriedOut
  if (carriedOut.size > mostCarriedOut && oldest !== undefined) carriedOut.delete(oldest)
}

function alreadyResumed(runId: string): ToolloopError {
  return new ToolloopError('already_resumed', `Another caller has resumed this state of run \`${runId}\` first`)
}
