import { Event, type EventPlace } from '../../core/events.ts'
import { copyAsJson } from '../../core/json.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import { secretTexts } from '../../core/redaction/redact.ts'
import { cancelledText } from '../../tools/told.ts'
import type { CallWork, CarryOut } from '../calls/running-call.ts'
import { recordCall, refuseCall } from '../calls/tool-call.ts'
import type { StepTags } from '../durable/journal.ts'
import { itemsWithin } from '../nested/items-within.ts'
import { shownItem } from '../nested/shown-question.ts'
import type { FinishedCall, PlannedCall } from '../recorded.ts'
import type { Execution } from '../run/execution.ts'
import type { PendingItem } from '../run/result.ts'
import { type RunContext, tagsOf } from '../run/run-context.ts'
import { nobodyDecided, refusedText, unansweredText } from '../told.ts'
import { withArguments } from './approvals.ts'
import { approvalKey, fingerprintOf, madeDecision, type Verdict } from './decisions.ts'

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

/** What somebody decided on one of its items. */
interface DecidedItem {
  item: PendingItem
  verdict: Verdict
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
  const isOver = durable.survivesCrashes && (await durable.step(`${iteration}.wait`, async () => run.interruption !== undefined))
  if (isOver) return { finished: [...free, ...(await cancel(round, waiting))], pending: [] }
  const { finished: decided, left } = await waitForDecisions(round, waiting)
  const interrupted = left.length > 0 && (await durable.step(`${iteration}.pause`, async () => run.interruption !== undefined))
  if (interrupted) return { finished: [...free, ...decided, ...(await cancel(round, left))], pending: [] }
  return { finished: [...free, ...decided], pending: left.toSorted((a, b) => a.index - b.index).flatMap(({ items }) => items) }
}

function waitingCalls(run: RunContext, { iteration, calls, finished }: WaitingRound): WaitingCall[] {
  const questions = new Map(finished.map(({ record, question }) => [record.id, question]))
  return calls.flatMap((call, index): WaitingCall[] => {
    const work = { call, index }
    if (call.approval !== undefined || call.action === 'client') return [waitingCall(run, iteration, work)]
    const question = questions.get(call.id)
    return question === undefined ? [] : [waitingCall(run, iteration, { ...work, question })]
  })
}

/** Waits for decisions, and carries them out; a tool that asks again is waited for again. Where nobody can wait, what is undecided is left. */
async function waitForDecisions(
  { execution, iteration, carryOut }: WaitingRound,
  first: readonly WaitingCall[],
): Promise<{ finished: FinishedCall[]; left: WaitingCall[] }> {
  const { run, state } = execution
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
    for (const { item, verdict } of decided.flatMap((one) => one.decided)) {
      const isRemembered = 'approved' in verdict && verdict.approved && verdict.remember === true
      // An agent inside a call remembers what is approved for it.
      if (isRemembered && item.path === undefined) state.remembered.add(approvalKey(item.tool, item.args))
    }
    const works: CallWork[] = []
    for (const one of decided) works.push(workOf(run, one))
    if (works.length > 0 && run.interruption === undefined) run.hasCarriedOut = true
    const ended = await carryOut(works)
    finished.push(...ended.filter(({ question }) => question === undefined))
    // A call that asks again has the arguments that were approved, not those that the model wrote.
    waiting = works.flatMap(({ call, index }, at) => {
      const { question, record } = ended[at] ?? {}
      if (question === undefined) return []
      // What was decided by the time it ran: more may have been since, for a run that is executed again.
      const asking = record?.decision === undefined ? call : { ...call, decision: record.decision }
      return [waitingCall(run, iteration, { call: asking, index, question, problems: decided[at]?.problems ?? 0, times })]
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
  const placeOf = (number: number) => `${iteration}.tool.${index}.decision${number === 1 ? '' : `.${number}`}`
  const place = placeOf(times)
  const problems = before + (isJsonObject(question?.about) && question.about.problem !== undefined ? 1 : 0)
  const one = { call, index, place, problems, ...(question === undefined ? {} : { question }) }
  // What is decided on one of an agent's items is carried out while the others wait on, each at the same place as before.
  const within = itemsWithin(question?.about, call.id, placeOf(problems + 1))
  if (within !== undefined) return { ...one, items: within }
  const kind = question !== undefined ? 'question' : call.approval === true ? 'approval' : 'client_tool'
  const named = { toolCallId: call.id, tool: call.name, args: call.args ?? {} }
  const { secrets = [] } = run.agent.registry.get(call.name) ?? {}
  const hides = secrets.length === 0 ? {} : { secrets: [...secrets] }
  return { ...one, items: [{ kind, ...named, ...question, fingerprint: fingerprintOf(run.runId, named), place, ...hides }] }
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
    const verdict = await verdictOn(this.#execution, item)
    if (verdict === undefined) return undefined
    const one = { item, verdict }
    this.#decided.set(item.place, one)
    await publishDecision(this.#execution, one)
    return one
  }
}

export async function publishItem({ durable, run }: Execution, item: PendingItem): Promise<void> {
  const key = `${item.place}.asked`
  await durable.step(key, async () => {
    run.hide(secretTexts(item.args, new Set(item.secrets)))
    run.emit(Event.DECISION_NEEDED, shownItem(item), metaOf(item, tagsOf(durable, key)))
    return null
  })
}

export async function publishDecision({ durable, run }: Execution, { item, verdict }: DecidedItem): Promise<void> {
  const { place, toolCallId, tool } = item
  const key = `${place}.made`
  await durable.step(key, async () => {
    run.emit(Event.DECISION_MADE, { ...madeDecision(item, verdict), toolCallId, tool, place }, metaOf(item, tagsOf(durable, key)))
    return null
  })
}

/** The call is the run's own; that of an agent inside it is in the payload. */
function metaOf({ place, path, toolCallId }: PendingItem, tags: StepTags): EventPlace {
  return { iteration: Number.parseInt(place, 10), toolCallId: path?.[0]?.toolCallId ?? toolCallId, ...tags }
}

/** Undefined where nobody has decided, and nobody can wait. */
export async function verdictOn({ durable, run }: Execution, item: PendingItem): Promise<Verdict | undefined> {
  const { decisionTimeoutMs } = run.settings
  const about = (durable.survivesCrashes ? copyAsJson(item) : item) as never as Json
  const options = { about, ...(decisionTimeoutMs === undefined ? {} : { timeoutMs: decisionTimeoutMs }) }
  const verdict: Verdict | null | undefined = await durable.wait<never>(item.place, options)
  if (verdict === undefined) return undefined
  const decided: Verdict = verdict ?? { approved: false, reason: nobodyDecided }
  run.recorder?.decided(run, { ...item, verdict: decided })
  return decided
}

/** The call as it is now to be carried out. */
function workOf(run: RunContext, { call, index, place, decided, question }: DecidedCall): CallWork {
  const { approval: _, ...rest } = call
  const free: PlannedCall = { ...rest }
  for (const { item, verdict } of decided) free.decision = madeDecision(item, verdict, free.decision)
  const work: CallWork = { call: free, index, key: `${place}.done` }
  const asked = question?.about
  const within = decided.filter(({ item }) => item.path !== undefined)
  if (within.length > 0) return { ...work, answered: { answer: { decisions: within.map(decisionWithin) }, asked } }
  const [only] = decided
  if (only === undefined) return work
  const { item, verdict } = only
  if (item.kind === 'client_tool' && 'result' in verdict)
    return { ...work, result: { value: verdict.result, isError: verdict.isError === true } }
  if (item.kind === 'question' && 'answer' in verdict) return { ...work, answered: { answer: verdict.answer, asked } }
  if (!('approved' in verdict && verdict.approved)) {
    const reason = 'reason' in verdict ? verdict.reason : undefined
    const text = (item.kind === 'question' ? unansweredText : refusedText)(call.name, reason)
    return { ...work, call: { ...free, action: 'reject', refusal: { code: 'tool_denied', text } } }
  }
  return verdict.args === undefined ? work : { ...work, call: withArguments(run, free, verdict.args) }
}

/** What an agent inside a call is told of a decision on one of its items. */
function decisionWithin({ item: { toolCallId, fingerprint }, verdict }: DecidedItem): JsonObject {
  return { toolCallId, fingerprint, ...(verdict as JsonObject) }
}

/** Ends calls that wait for somebody when the run has to end; of a question, its tool has run as far as that. */
function cancel({ execution, iteration }: WaitingRound, waiting: readonly WaitingCall[]): Promise<FinishedCall[]> {
  const { durable } = execution
  return durable.all(
    waiting.map(({ call, index, question }) => {
      const key = `${iteration}.tool.${index}.cancelled`
      const content = cancelledText(call.name)
      return durable.step(key, async () => {
        const place = { iteration, call, tags: tagsOf(durable, key) }
        if (question === undefined) return refuseCall(execution, place, { code: 'tool_cancelled', text: content })
        return recordCall(execution, place, 'cancelled', { content, errorCode: 'tool_cancelled' })
      })
    }),
  )
}
