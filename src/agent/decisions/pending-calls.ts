import { Event, type MadeDecision } from '../../core/events.ts'
import { copyAsJson } from '../../core/json.ts'
import type { Json } from '../../core/messages.ts'
import { cancelledText } from '../../tools/told.ts'
import type { CallWork, CarryOut } from '../calls/running-call.ts'
import { recordCall, refuseCall } from '../calls/tool-call.ts'
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
  item: PendingItem
}

/** What somebody decided. */
interface DecidedCall extends WaitingCall {
  verdict: Verdict
}

/** Finishes the calls that wait, as far as somebody decides on them. When the run has to end, they end with it. */
export async function finishWaiting(round: WaitingRound): Promise<{ finished: FinishedCall[]; pending: PendingItem[] }> {
  const { durable, run } = round.execution
  const { iteration } = round
  const free = round.finished.filter(({ question }) => question === undefined)
  const waiting = waitingCalls(run.runId, round)
  // Whoever aborts a run does not want it to wait, and what is left must be a whole conversation. In memory nothing waits for long.
  const isOver = durable.survivesCrashes && (await durable.step(`${iteration}.wait`, async () => run.interruption !== undefined))
  if (isOver) return { finished: [...free, ...(await cancel(round, waiting))], pending: [] }
  const { finished: decided, left } = await waitForDecisions(round, waiting)
  const interrupted = left.length > 0 && (await durable.step(`${iteration}.pause`, async () => run.interruption !== undefined))
  if (interrupted) return { finished: [...free, ...decided, ...(await cancel(round, left))], pending: [] }
  return { finished: [...free, ...decided], pending: left.toSorted((a, b) => a.index - b.index).map(({ item }) => item) }
}

function waitingCalls(runId: string, { iteration, calls, finished }: WaitingRound): WaitingCall[] {
  return calls.flatMap((call, index): WaitingCall[] => {
    if (call.approval !== undefined || call.action === 'client') return [waitingCall(runId, iteration, call, index)]
    const question = finished.find(({ record }) => record.id === call.id)?.question
    return question === undefined ? [] : [waitingCall(runId, iteration, call, index, question)]
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
  let waiting = first
  for (let asked = 2; waiting.length > 0; asked++) {
    const decided: DecidedCall[] = []
    // Whoever decides should know of all of them before the run waits for the first.
    for (const { item } of waiting) await publishPending(execution, item)
    for (const one of waiting) {
      const verdict = await verdictOn(execution, one.item)
      if (verdict === undefined) left.push(one)
      else decided.push({ ...one, verdict })
    }
    for (const { call, verdict } of decided) {
      if ('approved' in verdict && verdict.approved && verdict.remember) state.remembered.add(approvalKey(call.name, call.args ?? {}))
    }
    const works: CallWork[] = []
    for (const one of decided) {
      const decision = madeDecision(one.item, one.verdict, one.call.decision)
      await publishDecision(execution, one.item, decision)
      works.push(workOf(run, one, decision))
    }
    const ended = await carryOut(works)
    finished.push(...ended.filter(({ question }) => question === undefined))
    // Whoever asks again runs with the arguments that were approved, not with those that the model wrote.
    waiting = works.flatMap(({ call, index }, at) => {
      const question = ended[at]?.question
      return question === undefined ? [] : [waitingCall(run.runId, iteration, call, index, question, asked)]
    })
  }
  return { finished, left }
}

/** `times`: how often it has been waited for, this time included. */
function waitingCall(
  runId: string,
  iteration: number,
  call: PlannedCall,
  index: number,
  question?: Pick<PendingItem, 'about' | 'schema'>,
  times = 1,
): WaitingCall {
  const kind = question !== undefined ? 'question' : call.approval === true ? 'approval' : 'client_tool'
  const place = `${iteration}.tool.${index}.decision${times === 1 ? '' : `.${times}`}`
  const named = { toolCallId: call.id, tool: call.name, args: call.args ?? {} }
  return { call, index, item: { kind, ...named, ...question, fingerprint: fingerprintOf(runId, named), place } }
}

async function publishPending({ durable, run }: Execution, item: PendingItem): Promise<void> {
  const key = `${item.place}.asked`
  await durable.step(key, async () => {
    const meta = { iteration: Number.parseInt(item.place, 10), toolCallId: item.toolCallId, ...tagsOf(durable, key) }
    run.emit(Event.DECISION_NEEDED, { ...item }, meta)
    return null
  })
}

export async function publishDecision(
  { durable, run }: Execution,
  { place, toolCallId, tool }: PendingItem,
  decision: MadeDecision,
): Promise<void> {
  const key = `${place}.made`
  await durable.step(key, async () => {
    const meta = { iteration: Number.parseInt(place, 10), toolCallId, ...tagsOf(durable, key) }
    run.emit(Event.DECISION_MADE, { ...decision, toolCallId, tool, place }, meta)
    return null
  })
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
function workOf(run: RunContext, { call, index, verdict, item }: DecidedCall, decision: MadeDecision): CallWork {
  const { approval: _, ...rest } = call
  const free = { ...rest, decision }
  const work: CallWork = { call: free, index, key: `${item.place}.done` }
  if (item.kind === 'client_tool' && 'result' in verdict)
    return { ...work, result: { value: verdict.result, isError: verdict.isError === true } }
  if (item.kind === 'question' && 'answer' in verdict) return { ...work, answered: { answer: verdict.answer, asked: item.about } }
  if (!('approved' in verdict && verdict.approved)) {
    const reason = 'reason' in verdict ? verdict.reason : undefined
    const text = (item.kind === 'question' ? unansweredText : refusedText)(call.name, reason)
    return { ...work, call: { ...free, action: 'reject', refusal: { code: 'tool_denied', text } } }
  }
  const { args } = verdict
  if (args === undefined) return work
  return { ...work, call: withArguments(run, free, args) }
}

/** Ends calls that wait for somebody when the run has to end; of a question, its tool has run as far as that. */
function cancel({ execution, iteration }: WaitingRound, waiting: readonly WaitingCall[]): Promise<FinishedCall[]> {
  const { durable } = execution
  return durable.all(
    waiting.map(({ call, index, item }) => {
      const key = `${iteration}.tool.${index}.cancelled`
      const content = cancelledText(call.name)
      return durable.step(key, async () => {
        const place = { iteration, call, tags: tagsOf(durable, key) }
        if (item.kind !== 'question') return refuseCall(execution, place, { code: 'tool_cancelled', text: content })
        return recordCall(execution, place, 'cancelled', { content, errorCode: 'tool_cancelled' })
      })
    }),
  )
}
