import type { StopReason } from '../core/events.ts'
import type { ChatMessage } from '../core/messages.ts'
import { stoppedBy } from './callbacks/callbacks.ts'
import { settleIntents } from './calls/intents.ts'
import { isStopped } from './calls/stop-when.ts'
import { runToolRound } from './calls/tool-round.ts'
import { checkedInput } from './middleware/guardrails/ask-guardrails.ts'
import { jsonOf, type OutputFormat } from './output/output.ts'
import {
  addBeside,
  addMessages,
  addRound,
  addTurn,
  countRound,
  noRepeats,
  type RejectedAnswers,
  refuseAll,
  rejectedAnswers,
} from './run/run-state.ts'
import { iterationStep } from './step-keys.ts'
import { handOff } from './sub-agents/handoff.ts'
import type { Execution, Place } from './types/execution.ts'
import type { Ending, Objection, PlannedCall, Reply, Steering, ToolRound, Turn } from './types/recorded.ts'

/**
 * THE LOOP. Asks the model, runs its calls and sends back their results until `decideNext` ends the run. Its decisions depend only on the
 * results of steps, so a run can be resumed from its recorded steps.
 */
export async function runLoop(execution: Execution): Promise<Ending> {
  for (let place: Place = { iteration: 1 }; ; ) {
    const turn = await execution.layers.takeTurn(execution, place)
    addTurn(execution.state, turn, place.iteration)
    const calls = turn.kind === 'reply' ? admitCalls(execution, place, turn.planned) : []
    const round = calls.length === 0 ? undefined : await runToolRound(execution, place.iteration, calls)
    const next = await closeIteration(execution, place, turn, round)
    if (next.kind === 'end') return next.ending
    place = nextPlace(place, next)
  }
}

/** Refuses calls over the limit. In a last turn, refuses every call that does not give the answer. */
export function admitCalls({ run, state }: Execution, { lastTurn }: Place, planned: readonly PlannedCall[]): PlannedCall[] {
  return lastTurn === undefined ? state.budget.admit(planned) : refuseAll(planned, run.agent.output?.tool.name)
}

/** Adds the results of the calls to the state, decides whether the run continues, and appends the messages for the model to the history. */
export async function closeIteration(execution: Execution, place: Place, turn: Turn, round: ToolRound | undefined): Promise<Next | End> {
  const { run, state } = execution
  const { output } = run.agent
  const { iteration, lastTurn } = place
  const planned = turn.kind === 'reply' ? turn.planned : []
  const repeats = round === undefined || lastTurn !== undefined ? noRepeats : countRound(state, planned, round.records)
  if (round !== undefined) addRound(state, round, repeats)
  const mayStop =
    run.agent.stopWhen.length > 0 && round !== undefined && lastTurn === undefined && endingOfRound(round, output) === undefined
  const facts: Facts = {
    turn,
    round,
    lastTurn,
    output,
    stopped: mayStop && (await isStopped(execution, iteration)),
    rejected: turn.kind === 'reply' ? rejectedAnswers(state, turn.objection, output?.tool.name) : undefined,
    outputRetries: run.settings.outputRetries ?? 2,
    exhausted: state.budget.exhausted(iteration - state.carriedOutIn),
    repeats: repeats.end,
    onLimit: run.settings.onLimit ?? 'stop',
    continuationsLeft: run.settings.onTruncated === 'continue' ? mostContinuations - state.continuations : 0,
    hasIntents: state.intents.length > 0,
  }
  if (round?.handoff && lastTurn === undefined) facts.refusedHandoff = await handOff(execution, iteration, round.handoff)
  let next = decideNext(facts)
  while (next.kind === 'steer' || next.kind === 'settle') {
    if (next.kind === 'settle') facts.settled = await settleIntents(execution, iteration)
    else {
      facts.steering = await takeSteering(execution, iteration, next)
      addBeside(state, facts.steering)
      state.unread = facts.steering.unread
    }
    next = decideNext(facts)
  }
  if (next.kind !== 'end') addMessages(state, next.objection, next.messages)
  state.continuations = next.kind === 'continue' && next.continuesText ? state.continuations + 1 : 0
  const ending = next.kind === 'end' ? next.ending : next.kind === 'answer' ? next.limit : undefined
  if (lastTurn === undefined) run.logLimit(ending?.stopReason, iteration, state.toolCalls.length)
  return next
}

/** Maximum number of times that the model is asked to continue one answer. */
const mostContinuations = 3

export function nextPlace({ iteration }: Place, next: Next): Place {
  return { iteration: iteration + 1, ...(next.kind === 'answer' ? { lastTurn: next.limit } : {}) }
}

const noSteering: Steering = { messages: [], stops: false }

/** Reads and records the messages that were sent to the run since the last step. */
function takeSteering({ durable, run }: Execution, iteration: number, { takesMessages, hasAnswer }: Steer): Promise<Steering> {
  // Without a store, the step is always executed: the run may be resumed later with a control, even if it has none now.
  if (!run.steerable && durable.survivesCrashes) return Promise.resolve(noSteering)
  return durable.step(iterationStep(iteration, 'steer'), async () => {
    const taken = run.settings.control?.take({ continues: takesMessages, hasAnswer })
    if (taken === undefined || taken.messages.length === 0) return taken ?? noSteering
    return { ...taken, ...(await checkedInput(run, taken.messages, iteration)) }
  })
}

/** The facts that `decideNext` uses at the end of an iteration. */
export interface Facts {
  turn: Turn
  /** The results of the turn's calls. Undefined if there were no calls. */
  round: ToolRound | undefined
  /** How the run ends after this turn. Set if this is the last turn of a run. */
  lastTurn: Ending | undefined
  output: Pick<OutputFormat, 'tool' | 'wrapped'> | undefined
  /** Whether the caller's `stopWhen` has returned true. */
  stopped: boolean
  rejected: RejectedAnswers | undefined
  outputRetries: number
  exhausted: StopReason | undefined
  /** Whether the model repeated a call even after it was told about the repetition. */
  repeats: boolean
  onLimit: 'stop' | 'answer'
  /** How many more times the model may be asked to continue a text that was cut off. */
  continuationsLeft: number
  /** Whether a preview run has calls that still need the user's decision. */
  hasIntents: boolean
  /** The reason of the guardrail that has refused the handoff of this round. */
  refusedHandoff?: string | undefined
  /** Messages sent to the run. Undefined until `decideNext` asks for them. */
  steering?: Steering
  /** The results of the calls that the user of a preview has decided on. Undefined until `decideNext` asks for them. */
  settled?: ToolRound
}

/** `continue`: asks the model again. `continuesText`: asks it for the rest of its text. `answer`: asks once more, without tools. */
export type Next =
  | { kind: 'continue'; objection: Objection | undefined; messages: readonly ChatMessage[]; continuesText?: true }
  | { kind: 'answer'; limit: Ending; objection: Objection | undefined; messages: readonly ChatMessage[] }
export type End = { kind: 'end'; ending: Ending }
/**
 * Asks for the messages sent to the run. `takesMessages`: false if the run has reached a limit. `hasAnswer`: whether the run ends if no
 * messages have arrived.
 */
export type Steer = { kind: 'steer'; takesMessages: boolean; hasAnswer: boolean }

/** Stop reasons after which a preview asks the user to decide on its calls. */
const asksAfter: ReadonlySet<StopReason> = new Set(['answered', 'truncated', 'stopped', 'max_iterations', 'repeated_calls', 'budget'])

/** Decides how a run continues or ends. Returns `steer` or `settle` to ask for the missing `steering` or `settled`. */
export function decideNext(facts: Facts): Next | End | Steer | { kind: 'settle' } {
  const next = decideTurn(facts)
  if (next.kind !== 'end' || !facts.hasIntents || facts.steering?.stops === true || !asksAfter.has(next.ending.stopReason)) return next
  if (facts.settled === undefined) return { kind: 'settle' }
  const ending = endingOfRound(facts.settled, facts.output)
  return ending === undefined ? { kind: 'continue', objection: undefined, messages: [] } : end(ending)
}

function decideTurn(facts: Facts): Next | End | Steer {
  const { turn, round, lastTurn, output, stopped, rejected, outputRetries, exhausted, repeats, refusedHandoff, steering } = facts
  if (turn.kind !== 'reply') return end(lastTurn === undefined ? endingOfTurn(turn) : endingOfLastTurn(lastTurn, turn))

  const byCalls = round && endingOfRound(round, output)
  if (lastTurn !== undefined) {
    if (byCalls === undefined) return end(turn.isCut ? { stopReason: 'truncated' } : lastTurn)
    return end(byCalls.stopReason === 'answered' ? { ...lastTurn, output: byCalls.output } : byCalls)
  }
  const ending = byCalls ?? (stopped ? { stopReason: 'stopped' } : undefined)
  if (ending !== undefined && ending.stopReason !== 'answered') return end(ending)
  const answer = ending ?? (round === undefined ? endingOfText(turn) : undefined)
  if (answer === undefined && rejected !== undefined && rejected.count > outputRetries)
    return end(tooOftenRejected(rejected, outputRetries))
  if (refusedHandoff !== undefined) return end(stoppedByGuardrail(refusedHandoff))

  const limit = exhausted ?? (repeats ? 'repeated_calls' : undefined)
  const { objection, isCut, message } = turn
  // A reply that was cut off before its first character is not continued.
  const continuesText = isCut && message.content !== '' && facts.continuationsLeft > 0 && limit === undefined
  if (steering === undefined)
    return { kind: 'steer', takesMessages: limit === undefined, hasAnswer: answer !== undefined && !continuesText }
  if (steering.refused !== undefined) return end(stoppedByGuardrail(steering.refused))
  const { messages } = steering
  if (answer !== undefined && messages.length === 0 && (!continuesText || steering.stops)) return end(answer)
  if (steering.stops) return end({ stopReason: 'stopped' })
  if (limit === undefined)
    return { kind: 'continue', objection, messages, ...(continuesText && messages.length === 0 ? { continuesText } : {}) }
  if (facts.onLimit === 'answer' && limit !== 'budget') return { kind: 'answer', limit: { stopReason: limit }, objection, messages: [] }
  return end({ stopReason: limit })
}

function end(ending: Ending): End {
  return { kind: 'end', ending }
}

function endingOfTurn(turn: Exclude<Turn, Reply>): Ending {
  if (turn.kind === 'interrupted') return { stopReason: turn.why }
  if (turn.kind === 'unpaid') return turn.pending === undefined ? { stopReason: 'budget' } : { stopReason: 'paused', pending: turn.pending }
  return { stopReason: turn.kind === 'failed' ? 'model_error' : 'refused', error: turn.error }
}

/** The ending if the model does not reply in the last turn of a run that has reached `limit`. */
function endingOfLastTurn(limit: Ending, turn: Exclude<Turn, Reply>): Ending {
  const isStopped = turn.kind === 'refused' && (turn.error.code === 'guardrail' || turn.error.code === 'hook_failed')
  const isPaused = turn.kind === 'unpaid' && turn.pending !== undefined
  if (turn.kind === 'interrupted' || isStopped || isPaused) return endingOfTurn(turn)
  return turn.kind === 'failed' ? { ...limit, error: turn.error } : limit
}

/** The ending after a reply without calls. Undefined if the text is not accepted. */
function endingOfText({ isCut, objection }: Reply): Ending | undefined {
  if (isCut) return { stopReason: 'truncated' }
  return objection === undefined ? { stopReason: 'answered' } : undefined
}

/** The ending after a round of calls. Undefined if the run may continue. */
function endingOfRound({ interrupted, stop, pending, final }: ToolRound, output: Facts['output']): Ending | undefined {
  if (interrupted !== undefined) return { stopReason: interrupted }
  if (stop !== undefined) return stoppedByGuardrail(stop)
  if (pending.length > 0) return { stopReason: 'paused', pending }
  if (final === undefined) return undefined
  if (output === undefined || final.tool !== output.tool.name) return { stopReason: 'stopped', output: final.content }
  return { stopReason: 'answered', output: jsonOf(output, final.args ?? {}) }
}

export function stoppedByGuardrail(reason: string): Ending {
  const { code, message } = stoppedBy(reason)
  return { stopReason: 'refused', error: { code, message } }
}

function tooOftenRejected({ count, objection, isWithheld }: RejectedAnswers, outputRetries: number): Ending {
  const why = isWithheld ? 'a guardrail withheld the last one' : 'the last one does not fit the schema of `output`'
  const message = `Expected an answer that is accepted, got ${count} that were not (\`outputRetries\` is ${outputRetries}): ${why}. The model was told: ${objection}`
  if (isWithheld) return { stopReason: 'refused', error: { code: 'guardrail', message } }
  return { stopReason: 'model_error', error: { code: 'invalid_output', message } }
}
