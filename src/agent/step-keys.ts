/**
 * The keys of a run's steps, and of the places where a run waits. A key says where in the run a step is. It never contains an id from a
 * provider. Keys are stored, so they never change within one `loopVersion`. No other file creates or parses keys.
 */

/** Steps of the run as a whole. */
export const sessionStep = 'session'
export const traceStep = 'trace'
export const startStep = 'start'
export const endStep = 'end'
/** Records the time at which a script starts. */
export const scriptStep = 'script'
/** Records the messages that arrived too late for the run to read. */
export const unreadStep = 'unread'

/** Steps of one iteration. The number of the iteration, from 1, precedes the name. */
type IterationStep =
  /** The context window of the model. */
  | 'window'
  /** The messages sent to the run since the last step. */
  | 'steer'
  /** Whether `stopWhen` ends the run. */
  | 'stop'
  /** Whether another agent's guardrails prevent it from taking over the conversation. */
  | 'handoff'
  | 'wait'
  | 'intents'
  /** Whether the run has to end instead of being paused. */
  | 'pause'
  /** Whether the run has an `approve` callback. */
  | 'approver'

export function iterationStep(iteration: number, name: IterationStep): string {
  return `${iteration}.${name}`
}

/**
 * The suffixes that give a repeated turn its own key. A turn is repeated if the conversation was too long, or after a budget was raised.
 */
export const afterOverflow = '.2'

export function afterRaise(suffix: string, times: number): string {
  return times === 1 ? suffix : `${suffix}.paid${numbered(times)}`
}

/** The step of a turn. `isAnswer`: the turn may only answer, not call tools. */
export function turnStep(iteration: number, isAnswer: boolean, suffix = ''): string {
  return `${iteration}.${isAnswer ? 'answer' : 'model'}${suffix}`
}

/**
 * The step of the compaction before a turn. `isFurther`: a second compaction, because the provider reported that the conversation is too
 * long.
 */
export function compactStep(iteration: number, { isAnswer, isFurther }: { isAnswer: boolean; isFurther: boolean }): string {
  return `${iteration}.${isAnswer ? 'compact-answer' : 'compact'}${isFurther ? '.further' : ''}`
}

/** The place where a turn waits until a budget is raised. `suffix`: the suffix of the turn's key. */
export function budgetPlace(iteration: number, suffix: string, times: number): string {
  return `${iteration}.budget${suffix}${numbered(times)}`
}

/**
 * The step that records the start of a batch of calls. Batches are numbered from 1. `'again'`: calls that were approved to run a second
 * time. `intent`: the position of a call of a preview, which starts alone.
 */
export function roundStep(iteration: number, batch: number | 'again', intent?: number): string {
  const of = intent === undefined ? '' : `.intent.${intent}`
  return `${iteration}.round${of}${batch === 'again' ? '.again' : numbered(batch)}`
}

/** The step that calls `approve` for a tool call, for the `times`th time. */
export function approveStep(iteration: number, index: number, times: number): string {
  return `${iteration}.approve.${index}${numbered(times)}`
}

/** The step of a call, by the call's position in the turn. */
export function callStep(iteration: number, index: number): string {
  return `${iteration}.tool.${index}`
}

/** The step of the plan's decision on a call, for the `times`th time. It precedes the step that carries out the call. */
export function planStep(step: string, times: number): string {
  return `${step}.plan${numbered(times)}`
}

/** The place where a call waits for a decision, for the `times`th time. */
export function decisionPlace(iteration: number, index: number, times: number): string {
  return `${callStep(iteration, index)}.decision${numbered(times)}`
}

/** The place where a call of a nested agent waits for a decision. `place`: where the outer call waits. */
export function placeWithin(place: string, inner: string): string {
  return `${place}/${inner}`
}

/** The step that cancels a waiting call when the run ends. */
export function cancelledStep(iteration: number, index: number): string {
  return `${callStep(iteration, index)}.cancelled`
}

/** The three steps of a call that waits at `place`: asking for a decision, recording the decision, and executing the call. */
export const askedStep = (place: string): string => `${place}.asked`
export const madeStep = (place: string): string => `${place}.made`
export const doneStep = (place: string): string => `${place}.done`

/**
 * The keys of a call that may have run before a crash. `uncertainPlace`: the call waits here for a decision. `againStep`: executes the call
 * a second time. `leftStep`: records that the outcome stays unknown.
 */
export const uncertainPlace = (call: string): string => `${call}.uncertain`
export const againStep = (call: string): string => `${call}.again`
export const leftStep = (call: string): string => `${call}.left`

/** The name of a call, unique among all runs. It is the default of the call's idempotency key, and the name of its record. */
export function callName(runId: string, iteration: number, index: number): string {
  return `${runId}/${callStep(iteration, index)}`
}

/** The name of the call that a step carries out. */
export function callNameOf(runId: string, step: string): string {
  return `${runId}/${step.split('.', 3).join('.')}`
}

/** The step of the call that a record belongs to. Also accepts the record of a run that is nested in the call. */
export function stepOfRecord(runId: string, record: string): string {
  return record.slice(runId.length + 1).split('/', 1)[0] ?? ''
}

/** The iteration in the key of a step or a place. `NaN` if the key has no iteration. */
export function iterationOf(key: string | undefined): number {
  return Number.parseInt(key ?? '', 10)
}

/** Whether a step looked for messages sent to the run. */
export function isSteering(key: string): boolean {
  return nameOf(key) === 'steer'
}

/** Whether a step asked the model. */
export function isTurn(key: string): boolean {
  return nameOf(key) === 'model' || nameOf(key) === 'answer'
}

/** Whether a step called `approve`. */
export function isApproval(key: string): boolean {
  return nameOf(key) === 'approve'
}

/** Orders steps by their position in the run, not by time. In each iteration, messages to the run come last. */
export function compareSteps(a: string, b: string): number {
  // The key of the first decision on a call has no number. Replacing `/` sorts the decisions of a nested agent before the steps that follow
  // them.
  const numbered = (key: string) => key.replace(/\.decision(?!\.\d)/, '.decision.1').replace('/', ' ')
  return iterationOf(a) - iterationOf(b) || rankOf(a) - rankOf(b) || numbered(a).localeCompare(numbered(b), 'en', { numeric: true })
}

function rankOf(key: string): number {
  if (isTurn(key)) return key.split('.', 3)[2] === afterOverflow.slice(1) ? 1 : 0
  return isSteering(key) ? 3 : 2
}

/**
 * Whether a recorded step is executed again when the run continues after a wait. These are the steps that record the start, the end or a
 * pause of an execution, and, in the iteration of the wait, the start of calls.
 */
export function isDoneAgain(key: string, waitedIn: number): boolean {
  if (key === startStep || key === endStep) return true
  const name = nameOf(key)
  return name === 'pause' || (name === 'round' && iterationOf(key) === waitedIn)
}

/** The part of a key after the iteration, without suffixes. */
function nameOf(key: string): string | undefined {
  return key.split('.', 2)[1]
}

function numbered(times: number): string {
  return times === 1 ? '' : `.${times}`
}
