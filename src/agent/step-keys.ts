/**
 * The keys of a run's steps and of the places where it waits. A key says where in the run a step is, never which id a provider has given. Keys are stored,
 * so they never change within one `loopVersion`. Nothing else makes or reads one.
 */

/** Steps of the run as a whole. */
export const sessionStep = 'session'
export const traceStep = 'trace'
export const startStep = 'start'
export const endStep = 'end'
/** What a script is told of the world when it is started. */
export const scriptStep = 'script'
/** Messages to the run that it has not read. */
export const unreadStep = 'unread'

/** Steps of one iteration. The number of the iteration, from 1, precedes the name. */
type IterationStep =
  /** The context window of its model. */
  | 'window'
  /** What was said to the run meanwhile. */
  | 'steer'
  /** Whether the guardrails of another agent refuse the conversation. */
  | 'handoff'
  /** Whether the run has to end before it waits. */
  | 'wait'
  /** Whether the run has to end instead of being paused. */
  | 'pause'
  /** Whether somebody is asked for approvals. */
  | 'approver'

export function iterationStep(iteration: number, name: IterationStep): string {
  return `${iteration}.${name}`
}

/** Why a turn is taken again, and recorded under a key of its own: the conversation was too long, or a budget was raised, for the `times`th time. */
export const afterOverflow = '.2'

export function afterRaise(suffix: string, times: number): string {
  return times === 1 ? suffix : `${suffix}.paid${numbered(times)}`
}

/** The model is asked: for a turn, or only for an answer. */
export function turnStep(iteration: number, isAnswer: boolean, suffix = ''): string {
  return `${iteration}.${isAnswer ? 'answer' : 'model'}${suffix}`
}

/** The conversation is made shorter before a turn, or because the provider says that it is too long. */
export function compactStep(iteration: number, { isAnswer, isFurther }: { isAnswer: boolean; isFurther: boolean }): string {
  return `${iteration}.${isAnswer ? 'compact-answer' : 'compact'}${isFurther ? '.further' : ''}`
}

/** Where a turn waits until a budget is raised. `suffix`: that of the turn. */
export function budgetPlace(iteration: number, suffix: string, times: number): string {
  return `${iteration}.budget${suffix}${numbered(times)}`
}

/** Which attempt starts a batch of calls, counted from 1; `again`: calls that somebody lets run a second time. */
export function roundStep(iteration: number, batch: number | 'again'): string {
  return `${iteration}.round${batch === 'again' ? '.again' : numbered(batch)}`
}

/** `approve` is asked about a call, for the `times`th time. */
export function approveStep(iteration: number, index: number, times: number): string {
  return `${iteration}.approve.${index}${numbered(times)}`
}

/** A call by its position in the turn. */
export function callStep(iteration: number, index: number): string {
  return `${iteration}.tool.${index}`
}

/** What the plan makes of a call before the step that carries it out, for the `times`th time. */
export function planStep(step: string, times: number): string {
  return `${step}.plan${numbered(times)}`
}

/** Where a call waits for somebody, for the `times`th time. */
export function decisionPlace(iteration: number, index: number, times: number): string {
  return `${callStep(iteration, index)}.decision${numbered(times)}`
}

/** Where an item of an agent inside a call waits. */
export function placeWithin(place: string, inner: string): string {
  return `${place}/${inner}`
}

/** A call that waited, and is ended with the run. */
export function cancelledStep(iteration: number, index: number): string {
  return `${callStep(iteration, index)}.cancelled`
}

/** What becomes of a place: it is shown, it is decided, and the call is carried out. */
export const askedStep = (place: string): string => `${place}.asked`
export const madeStep = (place: string): string => `${place}.made`
export const doneStep = (place: string): string => `${place}.done`

/** A call that may have run: where somebody decides about it, its second run, and that it stays unknown. */
export const uncertainPlace = (call: string): string => `${call}.uncertain`
export const againStep = (call: string): string => `${call}.again`
export const leftStep = (call: string): string => `${call}.left`

/** Names a call in all runs: the default of its idempotency key, and the name of its record. */
export function callName(runId: string, iteration: number, index: number): string {
  return `${runId}/${callStep(iteration, index)}`
}

/** The same, of a step that carries the call out. */
export function callNameOf(runId: string, step: string): string {
  return `${runId}/${step.split('.', 3).join('.')}`
}

/** The step that a record of a call, or of a run inside one, belongs to. */
export function stepOfRecord(runId: string, record: string): string {
  return record.slice(runId.length + 1).split('/', 1)[0] ?? ''
}

/** The iteration that a step or a place belongs to; `NaN` if there is none. */
export function iterationOf(key: string | undefined): number {
  return Number.parseInt(key ?? '', 10)
}

/** Whether a step looked for what was said to the run meanwhile. */
export function isSteering(key: string): boolean {
  return nameOf(key) === 'steer'
}

/** Whether the model was asked in a step. */
export function isTurn(key: string): boolean {
  return nameOf(key) === 'model' || nameOf(key) === 'answer'
}

/** Whether somebody's decision on a call was asked of `approve`. */
export function isApproval(key: string): boolean {
  return nameOf(key) === 'approve'
}

/** Orders turns, calls and decisions as a run comes to them, however many at once; and what was said to it behind them. */
export function compareSteps(a: string, b: string): number {
  // The first decision on a call has no number; those of an agent inside the call come before what they let it do.
  const numbered = (key: string) => key.replace(/\.decision(?!\.\d)/, '.decision.1').replace('/', ' ')
  return iterationOf(a) - iterationOf(b) || rankOf(a) - rankOf(b) || numbered(a).localeCompare(numbered(b), 'en', { numeric: true })
}

function rankOf(key: string): number {
  if (isTurn(key)) return key.split('.', 3)[2] === afterOverflow.slice(1) ? 1 : 0
  return isSteering(key) ? 3 : 2
}

/**
 * Whether a recorded step is carried out again when the run continues after it has waited: those that announce an execution's start and end, those that say
 * that it pauses and, in the iteration that waited, those that say which attempt started calls, which have all been recorded since.
 */
export function isDoneAnew(key: string, waitedIn: number): boolean {
  if (key === startStep || key === endStep) return true
  const name = nameOf(key)
  return name === 'pause' || (name === 'round' && iterationOf(key) === waitedIn)
}

/** What follows the iteration in a key, without what tells repetitions apart. */
function nameOf(key: string): string | undefined {
  return key.split('.', 2)[1]
}

function numbered(times: number): string {
  return times === 1 ? '' : `.${times}`
}
