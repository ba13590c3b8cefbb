import { Event } from '../../core/events.ts'
import type { Content } from '../../core/messages.ts'
import type { PlannedCall } from '../calls/prepare-calls.ts'
import type { CallEnd, CallInFlight, CallTerms } from '../calls/tool-call.ts'
import { type Durable, tagsOf } from '../durable/journal.ts'
import type { LiveRun } from '../run/run-context.ts'
import type { PendingItem } from '../types.ts'
import { approvalKey, fingerprintOf, type Verdict } from './decisions.ts'

/** A call of a round that waits for somebody: an approval, the caller's own tool, a question. */
export interface WaitingCall {
  call: PlannedCall
  /** Its position in the turn. */
  index: number
  item: PendingItem
}

export interface Waited {
  /** The ends of those that were decided. */
  ends: CallEnd[]
  /** Those that were not. */
  left: WaitingCall[]
}

/** What somebody decided, and what came of it. */
interface Decided extends WaitingCall {
  verdict: Verdict
}

/** A call to be carried out as the step `key`. */
export interface CallWork {
  call: PlannedCall
  /** Its position in the turn. */
  index: number
  key: string
  run(flight: CallInFlight, terms: CallTerms): Promise<CallEnd>
}

/** Waits for decisions, and carries them out; a tool that asks again is waited for again. Where nobody can wait, what is undecided is left. */
export async function settleWaiting(
  durable: Durable,
  run: LiveRun,
  iteration: number,
  first: readonly WaitingCall[],
  carryOut: (work: readonly CallWork[]) => Promise<CallEnd[]>,
): Promise<Waited> {
  const settled: Waited = { ends: [], left: [] }
  let waiting = first
  for (let asked = 2; waiting.length > 0; asked++) {
    const decided: Decided[] = []
    // Whoever decides should know of all of them before the run waits for the first.
    for (const { item } of waiting) await tell(durable, run, item)
    for (const one of waiting) {
      const verdict = await waitFor(durable, run, one.item)
      if (verdict === undefined) settled.left.push(one)
      else decided.push({ ...one, verdict })
    }
    for (const { call, verdict } of decided) {
      if ('approved' in verdict && verdict.approved && verdict.remember) run.remembered.add(approvalKey(call.name, call.args ?? {}))
    }
    const ends = await carryOut(decided.map((one) => ({ index: one.index, key: `${one.item.place}.done`, ...plan(run, one) })))
    settled.ends.push(...ends.filter(({ question }) => question === undefined))
    waiting = decided.flatMap(({ call, index }, at) => {
      const question = ends[at]?.question
      return question === undefined ? [] : [waitingCall(run.runId, iteration, call, index, question, asked)]
    })
  }
  return settled
}

/** `times`: how often it has been waited for, this time included. */
export function waitingCall(
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

async function tell(durable: Durable, run: LiveRun, item: PendingItem): Promise<void> {
  const key = `${item.place}.asked`
  await durable.step(key, async () => {
    const meta = { iteration: Number.parseInt(item.place, 10), toolCallId: item.toolCallId, ...tagsOf(durable, key) }
    run.emit(Event.DECISION_NEEDED, { ...item }, meta)
    return null
  })
}

async function waitFor(durable: Durable, run: LiveRun, item: PendingItem): Promise<Verdict | undefined> {
  const { decisionTimeoutMs } = run.settings
  const about = JSON.parse(JSON.stringify(item))
  const options = { about, ...(decisionTimeoutMs === undefined ? {} : { timeoutMs: decisionTimeoutMs }) }
  const verdict = await durable.wait<never>(item.place, options)
  return verdict === null ? { approved: false, reason: 'nobody decided in time' } : verdict
}

/** The call as it is now to be carried out, and how. */
function plan(run: LiveRun, { call, verdict, item }: Decided): Pick<CallWork, 'call' | 'run'> {
  const { approval: _, ...free } = call
  if ('result' in verdict)
    return { call: free, run: async (flight, terms) => flight.settle(verdict.result, verdict.isError === true, terms) }
  if ('answer' in verdict) return { call: free, run: (flight, terms) => flight.finish(terms, verdict.answer, item.about) }
  if (!verdict.approved) {
    const what = item.kind === 'question' ? `The question of \`${call.name}\` was not answered` : `The call to \`${call.name}\` was refused`
    const text = `${what}${verdict.reason === undefined ? '.' : `: ${verdict.reason}`}`
    return { call: { ...free, action: 'reject', refusal: { code: 'tool_denied', text } }, run: (flight, terms) => flight.finish(terms) }
  }
  const { args } = verdict
  if (args === undefined) return { call: free, run: (flight, terms) => flight.finish(terms) }
  run.prepared.delete(call.id)
  const { asText: _asText, ...edited } = free
  const repairs = [...(call.repairs ?? []), 'arguments changed by whoever approved the call']
  return {
    call: { ...edited, args, rawArguments: JSON.stringify(args), repairs },
    run: async (flight, terms) => {
      const end = await flight.finish(terms)
      const content = withNote(end.record.content, `Note: the call was run with other arguments: ${JSON.stringify(args)}`)
      return { ...end, record: { ...end.record, content } }
    },
  }
}

export function withNote(content: Content, note: string | undefined): Content {
  if (note === undefined) return content
  return typeof content === 'string' ? `${content}\n\n${note}` : [...content, { type: 'text' as const, text: note }]
}
