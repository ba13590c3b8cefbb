import { hashOf } from '../../core/digest.ts'
import { ToolloopError } from '../../core/errors.ts'
import type { RunState } from '../types/result.ts'

/** A paused state that is about to be resumed. */
export interface ResumeClaim {
  runId: string
  /**
   * Identifies this state: every copy of the state has the same key, and no other state has it. If the same run pauses again later, the new
   * state has another key.
   */
  key: string
}

/** Decides whether this caller may resume the run. Return true for the first caller with a given key, and false for all others. */
export type Claim = (claim: ResumeClaim) => boolean | Promise<boolean>

/** The run that is about to continue. */
interface ResumedRun {
  /** Whether a decided call has run. */
  readonly hasCarriedOut: boolean
  readonly interruption: 'aborted' | 'deadline' | undefined
  readonly abortError: ToolloopError | undefined
  untilInterrupted<T>(work: Promise<T>): Promise<T | undefined>
}

/** The states that are being resumed in this process. */
const claimed = new Set<string>()

/** The states from which this process has most recently run a decided call, oldest first. */
const carriedOut = new Set<string>()
const mostCarriedOut = 10_000

/**
 * Runs `work` if this caller may resume the state, and rejects with `already_resumed` otherwise. Without `claim` and `again`, a process
 * can't resume a state again after a decided call has run. Passes on errors of `claim`. Rejects if the run is interrupted before `work`.
 */
export async function withClaim<T>(
  run: ResumedRun,
  state: RunState,
  { claim, again }: { claim: Claim | undefined; again: boolean },
  work: () => Promise<T>,
): Promise<T> {
  const { runId } = state
  const key = hashOf([runId, Object.keys(state.steps).sort(), Object.keys(state.decisions).sort()])
  // Different runs may have the same id, but they started to wait at different times (`waitingSince`).
  const stateKey = hashOf([key, state.waitingSince])
  if (claimed.has(key)) throw alreadyResumed(runId)
  // If `claim` is given, the process's own list of states does not matter.
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
