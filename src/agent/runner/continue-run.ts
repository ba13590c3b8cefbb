import { continues, decide } from '../calls/waiting/paused-run.ts'
import type { Decision } from '../decisions/decisions.ts'
import { withClaim } from '../decisions/resume-claim.ts'
import type { RecordPlace } from '../journal/own-steps.ts'
import { iterationOf } from '../step-keys.ts'
import type { Loop } from '../types/execution.ts'
import type { ResumeOptions, RunResult, RunState } from '../types/options.ts'
import { inputFromJson } from './durable-run.ts'
import type { GivenHere, RunOpener } from './live-run.ts'
import type { RunnerSessions } from './run-session.ts'
import { conclude, executeHere, prepareModel } from './start-run.ts'

interface Continued extends Pick<ResumeOptions, 'claim' | 'again'> {
  decisions: readonly Decision[]
  /** The place of the run's record, if the run is nested in a call. */
  place?: RecordPlace
}

/** Continues a run from its state. A run nested in a call is continued from the record of that call. */
export type ContinueRun = (paused: RunState, given: GivenHere, how: Continued) => Promise<RunResult<never>>

interface Runner {
  opener: RunOpener
  loop: Loop
  sessions: RunnerSessions
}

export function continueRun({ opener, loop, sessions }: Runner): ContinueRun {
  const { active, logger } = opener
  return async (paused, given, { decisions, claim, again = false, place }) => {
    const input = inputFromJson(paused.input)
    const recorded = { runId: paused.runId, input }
    const whole = await opener.restored(recorded, given)
    // The runner may have been closed while the options were restored.
    active.checkOpen(given.options.parent)
    const run = opener.open(recorded, whole)
    const leave = active.enter(run, { isRecorded: false, session: input.session })
    const isAgain = again || (place !== undefined && run.outer?.mayHaveRunIn?.has(given.options.parent?.iteration ?? 0) === true)
    if (isAgain)
      run.mayHaveRunIn = new Set([...paused.pending.map(({ place }) => place), ...Object.keys(paused.decisions)].map(iterationOf))
    try {
      await prepareModel(run)
      const { decisionTimeoutMs: timeoutMs } = run.settings
      const decided = await decide(paused, decisions, { registry: run.agent.registry, logger, timeoutMs })
      await place?.record.decide(paused, decided)
      const carryOn = async () => {
        if (input.session !== undefined) await sessions.enterAgain(run, input.session, { ...paused, again, isInCall: place !== undefined })
        return opener.executed(run, input, undefined, () => executeHere({ loop, run, input, sessions, place }, decided))
      }
      // A nested run is continued by its outer run, which has its own claim.
      const isClaimed = place === undefined && continues(decided, timeoutMs)
      const terms = { claim, again: again || given.options.parent !== undefined }
      return await conclude(await (isClaimed ? withClaim(run, paused, terms, carryOn) : carryOn()), run)
    } finally {
      await sessions.leave(run)
      run.dispose()
      leave()
    }
  }
}
