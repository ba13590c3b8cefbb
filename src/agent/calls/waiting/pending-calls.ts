import { isJsonObject } from '../../../core/messages.ts'
import { cancelledText } from '../../../tools/call-texts.ts'
import { itemsWithin } from '../../nested/nested-items.ts'
import { tagsOf } from '../../run/run-context.ts'
import { cancelledStep, decisionPlace, doneStep, iterationStep } from '../../step-keys.ts'
import type { Execution } from '../../types/execution.ts'
import type { FinishedCall, PlannedCall } from '../../types/recorded.ts'
import type { PendingItem } from '../../types/result.ts'
import type { CallWork, CarryOut } from '../../types/running-call.ts'
import { putToPlan } from '../plan-call.ts'
import { recordCall, refuseCall } from '../tool-call.ts'
import { applyVerdicts, type DecidedItem, DecisionDesk, itemOf } from './verdict.ts'

/** The calls of a turn, of which some wait: for an approval, for the result of a client tool, or for the answer to a question. */
export interface WaitingRound {
  execution: Execution
  iteration: number
  calls: readonly PlannedCall[]
  /** The calls that were carried out. A call whose tool asks questions has run up to the question. */
  finished: readonly FinishedCall[]
  carryOut: CarryOut
}

export interface WaitingCall {
  call: PlannedCall
  /** The call's position in the turn. */
  index: number
  /** The place where the call waits for a decision. */
  place: string
  items: PendingItem[]
  question?: FinishedCall['question']
  /** How often a nested agent has refused a decision as invalid. */
  problems: number
}

interface DecidedCall extends WaitingCall {
  decided: DecidedItem[]
}

/** Finishes the waiting calls that have decisions. If the run has to end, ends all waiting calls. */
export async function finishWaiting(round: WaitingRound): Promise<{ finished: FinishedCall[]; pending: PendingItem[] }> {
  const { durable, run } = round.execution
  const { iteration } = round
  const free = round.finished.filter((one) => !asks(one))
  const waiting = waitingCalls(round)
  // An interrupted run needs the results of its calls now, so it must not wait for decisions. Without a journal, a run never waits here.
  const isOver =
    durable.survivesCrashes && (await durable.step(iterationStep(iteration, 'wait'), async () => run.interruption !== undefined))
  if (isOver) return { finished: [...free, ...(await cancel(round, waiting))], pending: [] }
  const { finished: decided, left } = await waitForDecisions(round, waiting)
  const interrupted = left.length > 0 && (await durable.step(iterationStep(iteration, 'pause'), async () => run.interruption !== undefined))
  if (interrupted) return { finished: [...free, ...decided, ...(await cancel(round, left))], pending: [] }
  return { finished: [...free, ...decided], pending: left.toSorted((a, b) => a.index - b.index).flatMap(({ items }) => items) }
}

function waitingCalls({ execution, iteration, calls, finished }: WaitingRound): WaitingCall[] {
  const questions = new Map(finished.filter(asks).map(({ record, question }) => [record.id, question]))
  return calls.flatMap((call, index): WaitingCall[] => {
    const work = { call, index }
    if (waits(work)) return [waitingCall(execution, iteration, work)]
    const question = questions.get(call.id)
    return question === undefined ? [] : [waitingCall(execution, iteration, { ...work, question })]
  })
}

/** Whether the call waits for an answer. Calls that a nested agent planned in a preview are decided later, with the run's plan. */
function asks({ question, noted }: FinishedCall): boolean {
  return question !== undefined && noted === undefined
}

/** Whether a call waits for an approval or for the result of a client tool. */
function waits({ call, result }: Pick<CallWork, 'call' | 'result'>): boolean {
  return call.approval !== undefined || (call.action === 'client' && result === undefined)
}

/**
 * Waits for decisions and carries them out. If a tool then asks a question, waits again. If this process can't wait, calls without a
 * decision stay pending.
 */
export async function waitForDecisions(
  { execution, iteration, carryOut }: Pick<WaitingRound, 'execution' | 'iteration' | 'carryOut'>,
  first: readonly WaitingCall[],
  { desk = new DecisionDesk(execution), waited = 0 }: { desk?: DecisionDesk; waited?: number } = {},
): Promise<{ finished: FinishedCall[]; left: WaitingCall[] }> {
  const { run } = execution
  const finished: FinishedCall[] = []
  const left: WaitingCall[] = []
  let waiting = first
  for (let times = waited + 2; waiting.length > 0; times++) {
    const decided: DecidedCall[] = []
    // Emits all items before the run waits for a decision, so that all can be decided together.
    for (const item of waiting.flatMap(({ items }) => items)) await desk.open(item)
    for (const one of waiting) {
      const verdicts = await desk.decided(one.items)
      if (verdicts.length === 0) left.push(one)
      else decided.push({ ...one, decided: verdicts })
    }
    const works = await putToPlan(
      execution,
      iteration,
      decided.map((one) => ({ index: one.index, key: doneStep(one.place), problems: one.problems, ...applyVerdicts(run, one) })),
    )
    const ready = works.filter((work) => !waits(work))
    if (ready.length > 0 && run.interruption === undefined) run.hasCarriedOut = true
    const ended = await carryOut(ready)
    for (const [at, { call }] of ready.entries()) {
      const one = ended[at]
      if (one !== undefined && !asks(one)) finished.push(one.noted ? { ...one, after: { call, waited: times - 1 } } : one)
    }
    // A call that waits again keeps the approved arguments, which may differ from the arguments that the model wrote.
    waiting = works.flatMap((work) => {
      const { call, index, problems } = work
      if (waits(work)) return [waitingCall(execution, iteration, { call, index, times })]
      const one = ended[ready.indexOf(work)]
      if (one === undefined || !asks(one)) return []
      const { question, record } = one
      // Uses the recorded decision, because later decisions may exist if the run is executed again.
      const asking = record.decision === undefined ? call : { ...call, decision: record.decision }
      return [waitingCall(execution, iteration, { call: asking, index, question, problems, times })]
    })
  }
  return { finished, left }
}

/** Describes a call that waits. `times`: how often the call has waited, including this time. */
export function waitingCall(
  execution: Execution,
  iteration: number,
  {
    call,
    index,
    question,
    problems: before = 0,
    times = 1,
  }: Pick<WaitingCall, 'call' | 'index' | 'question'> & { problems?: number; times?: number },
): WaitingCall {
  const place = decisionPlace(iteration, index, times)
  const problems = before + (isJsonObject(question?.about) && question.about.problem !== undefined ? 1 : 0)
  const one = { call, index, place, problems, question }
  // The places don't depend on `times`, so that a decision on one item of a nested agent doesn't change the places of the others.
  const within = itemsWithin(question?.about, call.id, decisionPlace(iteration, index, problems + 1))
  if (within !== undefined) return { ...one, items: within }
  const isApproval = call.approval !== undefined || call.intent !== undefined
  const kind = question !== undefined ? 'question' : isApproval ? 'approval' : 'client_tool'
  return { ...one, items: [{ ...itemOf(execution, call, kind, place), ...question }] }
}

/** Ends the waiting calls of a run that has to end. A call whose tool asked a question has already run up to the question. */
function cancel({ execution, iteration }: WaitingRound, waiting: readonly WaitingCall[]): Promise<FinishedCall[]> {
  const { durable } = execution
  return durable.all(
    waiting.map(({ call, index, question }) => {
      const key = cancelledStep(iteration, index)
      const content = cancelledText(call.name)
      return durable.step(key, async () => {
        const place = { iteration, call, tags: tagsOf(durable, key) }
        if (question === undefined) return refuseCall(execution, place, { code: 'tool_cancelled', text: content })
        return recordCall(execution, place, 'cancelled', { content, errorCode: 'tool_cancelled' })
      })
    }),
  )
}
