import type { StopReason } from '../core/events.ts'
import type { ToolRound } from './calls/tool-round.ts'
import type { Durable } from './durable/journal.ts'
import { handOver } from './nested/handoff.ts'
import { type Budget, noRepeats, type RepeatBreaker } from './run/limits.ts'
import type { LiveRun } from './run/run-context.ts'
import { endingOfSteering, takeSteering } from './run/run-control.ts'
import { type Ending, endingOfRound, endingOfTurn, type RunRecord } from './run/run-state.ts'
import type { Turn } from './turn/turn.ts'

export type Reply = Extract<Turn, { kind: 'reply' }>

/** How the run ends, if it does. `answerFirst`: the model is asked once more before, without tools, so that there is an answer. */
export type NextStep = { ending: Ending; answerFirst: boolean } | undefined

/** A reply and, where it has calls, what they came to. */
export interface StepTaken {
  iteration: number
  turn: Reply
  round: ToolRound | undefined
  budget: Budget
  breaker: RepeatBreaker
}

/** Takes a step over and decides what comes next. Several reasons to end at once: the first counts. */
export async function closeStep(durable: Durable, run: LiveRun, record: RunRecord, step: StepTaken): Promise<NextStep> {
  const { iteration, turn, round, budget, breaker } = step
  let repeats = noRepeats
  let answer: Ending | undefined
  if (round !== undefined) {
    repeats = breaker.countRound(turn.planned, round.records)
    budget.settle(round.records)
    record.addRound(round, repeats.tell)
    const ending = endingOfRound(round, run) ?? (record.shouldStop(iteration, run) ? { stopReason: 'stopped' } : undefined)
    if (round.handover !== undefined) handOver(run, record, round.handover)
    if (ending !== undefined && ending.stopReason !== 'answered') return { ending, answerFirst: false }
    answer = ending
  } else if (turn.objection === undefined) answer = { stopReason: 'answered' }

  const rejected = answer === undefined ? record.rejectedAnswer(turn.objection, run) : undefined
  if (rejected !== undefined) return { ending: rejected, answerFirst: false }
  const limit: StopReason | undefined = budget.exhausted(iteration) ?? (repeats.end ? 'repeated_calls' : undefined)
  const steering = await takeSteering(durable, run, iteration, limit)
  const ending = endingOfSteering(steering, answer)
  if (ending !== undefined) return { ending, answerFirst: false }
  if (limit === undefined) {
    record.say(turn.objection, steering.messages)
    return undefined
  }

  run.logger.warn(
    { runId: run.runId, stopReason: limit, iterations: iteration, toolCalls: record.toolCalls.length },
    endingWords[limit] ?? 'run ended',
  )
  const answerFirst = run.settings.onLimit === 'answer' && limit !== 'budget'
  if (answerFirst) record.say(turn.objection, [])
  return { ending: { stopReason: limit }, answerFirst }
}

/** How the run ends with the answer it was asked for at a limit. */
export function endingOfAnswer(limit: Ending, turn: Turn): Ending {
  const isStopped = turn.kind === 'refused' && turn.error.code === 'guardrail'
  if (turn.kind === 'interrupted' || isStopped) return endingOfTurn(turn)
  return turn.kind === 'failed' ? { ...limit, error: turn.error } : limit
}

/** The same when that answer has calls; they join the record. Told to call nothing, some models do: only the answer's own tool has been run. */
export function closeAnswer(run: LiveRun, record: RunRecord, limit: Ending, round: ToolRound): Ending {
  record.addRound(round, noRepeats.tell)
  const ending = endingOfRound(round, run)
  if (ending === undefined) return limit
  return ending.stopReason === 'answered' ? { ...limit, output: ending.output } : ending
}

const endingWords: Partial<Record<StopReason, string>> = {
  max_iterations: 'run ended: the iteration limit is reached and the model still calls tools',
  budget: 'run ended: a budget is used up',
  repeated_calls: 'run ended: the model repeats the same call',
}
