import { isJsonObject } from '../../../core/messages.ts'
import { cancelledText } from '../../../tools/told.ts'
import { itemsWithin } from '../../nested/items-within.ts'
import { type RunContext, tagsOf } from '../../run/run-context.ts'
import { cancelledStep, decisionPlace, doneStep, iterationStep } from '../../step-keys.ts'
import type { Execution } from '../../types/execution.ts'
import type { FinishedCall, PlannedCall } from '../../types/recorded.ts'
import type { PendingItem } from '../../types/result.ts'
import type { CallWork, CarryOut } from '../../types/running-call.ts'
import { putToPlan } from '../plan-call.ts'
import { recordCall, refuseCall } from '../tool-call.ts'
import { askDecision, publishDecision, publishItem } from './ask-decision.ts'
import { applyVerdicts, type DecidedItem, itemOf, remember } from './verdict.ts'

/** A round that has calls which wait for somebody: an approval, the caller's own tool, a question. */
export interface WaitingRound {
  execution: Execution
  iteration: number
  calls: readonly PlannedCall[]
  /** Those that were carried out, as far as their questions. */
  finished: readonly FinishedCall[]
  carryOut: CarryOut
}

interface WaitingCall {
  call: PlannedCall
  /** Its position in the turn. */
  index: number
  /** Where it waits. Its items have places of their own if they are those of an agent inside the call. */
  place: string
  items: PendingItem[]
  /** Its tool's question. */
  question?: FinishedCall['question']
  /** How often an agent inside the call could not carry out what was decided. */
  problems: number
}

interface DecidedCall extends WaitingCall {
  decided: DecidedItem[]
}

/** Finishes the calls that wait, as far as somebody decides on them. When the run has to end, they end with it. */
export async function finishWaiting(round: WaitingRound): Promise<{ finished: FinishedCall[]; pending: PendingItem[] }> {
  const { durable, run } = round.execution
  const { iteration } = round
  const free = round.finished.filter(({ question }) => question === undefined)
  const waiting = waitingCalls(run, round)
  // Whoever aborts a run does not want it to wait, and what is left must be a whole conversation. In memory nothing waits for long.
  const isOver =
    durable.survivesCrashes && (await durable.step(iterationStep(iteration, 'wait'), async () => run.interruption !== undefined))
  if (isOver) return { finished: [...free, ...(await cancel(round, waiting))], pending: [] }
  const { finished: decided, left } = await waitForDecisions(round, waiting)
  const interrupted = left.length > 0 && (await durable.step(iterationStep(iteration, 'pause'), async () => run.interruption !== undefined))
  if (interrupted) return { finished: [...free, ...decided, ...(await cancel(round, left))], pending: [] }
  return { finished: [...free, ...decided], pending: left.toSorted((a, b) => a.index - b.index).flatMap(({ items }) => items) }
}

function waitingCalls(run: RunContext, { iteration, calls, finished }: WaitingRound): WaitingCall[] {
  const questions = new Map(finished.map(({ record, question }) => [record.id, question]))
  return calls.flatMap((call, index): WaitingCall[] => {
    const work = { call, index }
    if (waits(work)) return [waitingCall(run, iteration, work)]
    const question = questions.get(call.id)
    return question === undefined ? [] : [waitingCall(run, iteration, { ...work, question })]
  })
}

/** Whether a call needs an approval, or its caller's result. */
function waits({ call, result }: Pick<CallWork, 'call' | 'result'>): boolean {
  return call.approval !== undefined || (call.action === 'client' && result === undefined)
}

/** Waits for decisions, and carries them out; a tool that asks again is waited for again. Where nobody can wait, what is undecided is left. */
async function waitForDecisions(
  { execution, iteration, carryOut }: WaitingRound,
  first: readonly WaitingCall[],
): Promise<{ finished: FinishedCall[]; left: WaitingCall[] }> {
  const { run } = execution
  const finished: FinishedCall[] = []
  const left: WaitingCall[] = []
  const desk = new Desk(execution)
  let waiting = first
  for (let times = 2; waiting.length > 0; times++) {
    const decided: DecidedCall[] = []
    // Whoever decides should know of all of them before the run waits for the first.
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
    finished.push(...ended.filter(({ question }) => question === undefined))
    // A call that asks again has the arguments that were approved, not those that the model wrote.
    waiting = works.flatMap((work) => {
      const { call, index, problems } = work
      if (waits(work)) return [waitingCall(run, iteration, { call, index, times })]
      const { question, record } = ended[ready.indexOf(work)] ?? {}
      if (question === undefined) return []
      // What was decided by the time it ran: more may have been since, for a run that is executed again.
      const asking = record?.decision === undefined ? call : { ...call, decision: record.decision }
      return [waitingCall(run, iteration, { call: asking, index, question, problems, times })]
    })
  }
  return { finished, left }
}

/** `times`: how often it has been waited for, this time included. */
function waitingCall(
  run: RunContext,
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
  // What is decided on one of an agent's items is carried out while the others wait on, each at the same place as before.
  const within = itemsWithin(question?.about, call.id, decisionPlace(iteration, index, problems + 1))
  if (within !== undefined) return { ...one, items: within }
  const kind = question !== undefined ? 'question' : call.approval === true ? 'approval' : 'client_tool'
  return { ...one, items: [{ ...itemOf(run, call, kind, place), ...question }] }
}

/** Where the items of a round are put up, and what is decided on them is told: each once, however often an agent inside a call asks for it. */
class Desk {
  readonly #execution: Execution
  readonly #opened = new Set<string>()
  readonly #decided = new Map<string, DecidedItem>()

  constructor(execution: Execution) {
    this.#execution = execution
  }

  async open(item: PendingItem): Promise<void> {
    if (this.#opened.has(item.place)) return
    this.#opened.add(item.place)
    await publishItem(this.#execution, item)
  }

  async decided(items: readonly PendingItem[]): Promise<DecidedItem[]> {
    const decided: DecidedItem[] = []
    for (const item of items) {
      const one = this.#decided.get(item.place) ?? (await this.#look(item))
      if (one !== undefined) decided.push(one)
    }
    return decided
  }

  async #look(item: PendingItem): Promise<DecidedItem | undefined> {
    const verdict = await askDecision(this.#execution, item)
    if (verdict === undefined) return undefined
    const one = { item, verdict }
    this.#decided.set(item.place, one)
    await publishDecision(this.#execution, one)
    remember(this.#execution.state, one)
    return one
  }
}

/** Ends calls that wait for somebody when the run has to end; of a question, its tool has run as far as that. */
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
