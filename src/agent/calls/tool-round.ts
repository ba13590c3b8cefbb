import { Event } from '../../core/events.ts'
import { Lanes } from '../../tools/concurrency.ts'
import { tagsOf } from '../run/run-context.ts'
import { callStep, roundStep } from '../step-keys.ts'
import { DeferredText } from '../text-calls/deferred-text.ts'
import type { Execution } from '../types/execution.ts'
import type { FinishedCall, Intent, PlannedCall, ToolRound } from '../types/recorded.ts'
import type { PendingItem } from '../types/result.ts'
import type { CallTerms, CallWork, CarryOut } from '../types/running-call.ts'
import { putToPlan } from './plan-call.ts'
import { carryOutCall } from './tool-call.ts'
import { finishWaiting } from './waiting/pending-calls.ts'
import { settleUncertain } from './waiting/uncertain-calls.ts'
import { decideApprovals, hasApprover } from './waiting/verdict.ts'

/** Starts calls with `carryOut`, possibly at different times. Resolves with their results in the order of `work`. */
export type StartCalls = (work: readonly CallWork[], carryOut: CarryOut) => Promise<FinishedCall[]>

const startAll: StartCalls = (work, carryOut) => carryOut(work)

/**
 * Runs or refuses all calls of one turn. Starts the calls in order, each in its own step. Refused calls have steps too, so that every call
 * has a record. Calls that wait for a decision come last. Does not reject if a tool fails.
 */
export async function runToolRound(
  execution: Execution,
  iteration: number,
  planned: readonly PlannedCall[],
  start: StartCalls = startAll,
): Promise<ToolRound> {
  const isFree = execution.layers.planCall === undefined && !planned.some(needsApproval)
  const calls = isFree ? planned : await planRound(execution, iteration, planned)
  const carryOut = carryOutTogether(execution, iteration, calls)
  const free: CallWork[] = []
  calls.forEach((call, index) => {
    if (call.approval === undefined && call.action !== 'client') free.push({ call, index, key: callStep(iteration, index) })
  })
  const finished = await start(free, carryOut)
  if (free.length === calls.length && !finished.some(asks)) return summarise(execution, iteration, calls, finished)
  const { finished: all, pending } = await finishWaiting({ execution, iteration, calls, finished, carryOut })
  return summarise(execution, iteration, calls, all, pending)
}

/** Asks first `approve` and then the plan. If the plan requires an approval, asks `approve` again. */
async function planRound(execution: Execution, iteration: number, planned: readonly PlannedCall[]): Promise<readonly PlannedCall[]> {
  let calls = planned
  let isAsked: boolean | undefined
  for (let times = 1; ; times++) {
    if (calls.some(needsApproval)) isAsked ??= await hasApprover(execution, iteration)
    const approved = isAsked === true ? await decideApprovals(execution, iteration, calls, times) : calls
    if (execution.layers.planCall === undefined || (times > 1 && approved.every((call, at) => call === calls[at]))) return approved
    const works = approved.map((call, index) => ({ call, key: callStep(iteration, index) }))
    const decided = await putToPlan(execution, iteration, works, times)
    calls = decided.map(({ call }) => call)
    if (!calls.some(needsApproval)) return calls
  }
}

function needsApproval({ approval }: PlannedCall): boolean {
  return approval !== undefined
}

function asks({ question }: FinishedCall): boolean {
  return question !== undefined
}

function isUncertain({ record }: FinishedCall): boolean {
  return record.outcome === 'uncertain'
}

function isText({ asText }: PlannedCall): boolean {
  return asText === true
}

function hasTextAfter({ textAfter }: PlannedCall): boolean {
  return textAfter !== undefined
}

/**
 * Returns the function that runs calls of one turn, one batch at a time. `intent`: set if `calls` has only a call that was planned in a
 * preview.
 */
export function carryOutTogether(execution: Execution, iteration: number, calls: readonly PlannedCall[], intent?: Intent): CarryOut {
  const { durable, run, state } = execution
  const lanes = lanesFor(execution, calls)
  const { callKeys } = state
  const keyOf = callKeys.isUsed ? callKeys.ofRound(iteration, calls, intent?.index) : undefined
  const deferred = calls.some(hasTextAfter) ? new DeferredText(calls) : undefined
  let batches = intent?.waited ?? 0

  /** Records which attempt starts the batch. Returns true if an earlier attempt may have run these calls without recording them. */
  const mayHaveRun = async (batch: number | 'again'): Promise<boolean> => {
    const { attempt } = durable
    return (await durable.step(roundStep(iteration, batch, intent?.index), async () => attempt)) !== attempt
  }
  const isRecorded = durable.survivesCrashes
  const carryOneWithText = (work: CallWork, terms: CallTerms, deferred: DeferredText): Promise<FinishedCall> => {
    const ended = () => {
      const meta = { iteration, ...tagsOf(durable, work.key) }
      for (const text of deferred.release(work.index)) run.events.deltas(Event.TEXT_DELTA, meta)?.({ text })
    }
    return deferred.after(work.index, carryOne(execution, iteration, work, { ...terms, ended }))
  }

  return async (batch) => {
    batches++
    const isFromEarlier = isRecorded && (await mayHaveRun(batches))
    const terms: CallTerms = { lanes, keyOf, mayHaveRun: isFromEarlier || run.mayHaveRunIn?.has(iteration) === true }
    const started: Promise<FinishedCall>[] = []
    for (const work of batch) {
      started.push(deferred === undefined ? carryOne(execution, iteration, work, terms) : carryOneWithText(work, terms, deferred))
    }
    const finished = await durable.all(started)
    if (!finished.some(isUncertain)) return finished
    const runAgain = async (again: readonly CallWork[]) => {
      const terms: CallTerms = { lanes, keyOf, mayHaveRun: isRecorded && (await mayHaveRun('again')) }
      return durable.all(again.map((work) => carryOne(execution, iteration, work, terms)))
    }
    return settleUncertain(execution, iteration, batch, finished, runAgain)
  }
}

async function carryOne(execution: Execution, iteration: number, work: CallWork, terms: CallTerms): Promise<FinishedCall> {
  const finished = await execution.durable.step(work.key, (step) => carryOutCall(execution, iteration, work, step, terms))
  // The usage counts at once, because other calls of the turn may still send requests.
  execution.state.budget.keep(finished.record)
  return finished
}

/** The concurrency limiter for the calls of a turn. Undefined if all calls may run at once. */
function lanesFor({ run }: Execution, calls: readonly PlannedCall[]): Lanes | undefined {
  const { agent, settings, limits } = run
  // Text calls run one after another by default, because the model wrote them in sequence.
  const count = settings.toolConcurrency === undefined && calls.some(isText) ? 1 : limits.toolConcurrency
  let waits = calls.length > count
  for (const { name } of calls) if (agent.registry.get(name)?.parallel === false) waits = true
  return calls.length > 1 && waits ? new Lanes(count) : undefined
}

/** Combines the results of a turn's calls. `calls`: all calls of the turn, or the one call that a preview runs, at position `first`. */
export function summarise(
  { run }: Execution,
  iteration: number,
  calls: readonly PlannedCall[],
  finished: readonly FinishedCall[],
  pending: PendingItem[] = [],
  first = 0,
): ToolRound {
  const round: ToolRound = { records: [], pending, intents: [] }
  const byId = new Map<string, FinishedCall>()
  for (const one of finished) byId.set(one.record.id, one)
  for (const [at, call] of calls.entries()) {
    const one = byId.get(call.id)
    if (one === undefined) continue
    round.records.push(one.record)
    if (one.noted) {
      run.notedBy.set(call.id, run.agent)
      round.intents.push({ iteration, index: first + at, call, question: one.question, waited: 0, ...one.after })
    }
    if (one.final && one.record.outcome === 'ok') round.final ??= one.record
    if (one.handoff !== undefined) round.handoff = one.handoff
    if (one.stop !== undefined) round.stop ??= one.stop
    if (one.interrupted !== undefined) round.interrupted = one.interrupted
  }
  return round
}
