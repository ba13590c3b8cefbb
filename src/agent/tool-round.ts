import { Event } from '../events.ts'
import { copyJson, type ToolResultMessage } from '../messages.ts'
import { cancelledText, loggedFailure } from '../tools/runner.ts'
import { type Durable, tagsOf } from './journal.ts'
import { Lanes } from './lanes.ts'
import type { LiveRun } from './live-run.ts'
import { legalName, type PlannedCall } from './plan.ts'
import { QueuedText } from './queued-text.ts'
import type { ApprovalDecision, PendingItem, ToolCallRecord } from './run.ts'
import { type CallEnd, CallInFlight } from './tool-call.ts'

/** What a round came to, in the order of the calls. */
export interface ToolRound {
  records: ToolCallRecord[]
  pending: PendingItem[]
  /** The result of a tool whose result is the run's output. */
  final?: ToolCallRecord
  interrupted?: 'aborted' | 'deadline'
}

/**
 * Answers all calls of one turn. They are started in their order in one tick, each as the step `${iteration}.tool.${index}`; refused ones
 * too, so that every call has its record. Never rejects for a fault of a tool.
 */
export async function runToolRound(durable: Durable, run: LiveRun, iteration: number, planned: readonly PlannedCall[]): Promise<ToolRound> {
  const calls = await decideApprovals(durable, run, iteration, planned)
  // A later execution that finds another attempt's token here knows that a call without a record may have run all the same.
  const began = durable.survivesCrashes ? await durable.step(`${iteration}.round`, async () => durable.attempt) : durable.attempt
  const lanes = new Lanes(lanesFor(planned, run))
  const queued = new QueuedText(calls)
  const runnable = calls
    .map((call, index) => ({ call, index }))
    .filter(({ call }) => call.approval === undefined && call.action !== 'client')
  const ends = await durable.all(
    runnable.map(({ call, index }) => {
      const key = `${iteration}.tool.${index}`
      const meta = { iteration, ...tagsOf(durable, key) }
      return queued.after(
        index,
        durable.step(key, (step) =>
          new CallInFlight(run, call, iteration, durable, key, step).finish(lanes, began !== durable.attempt, () => {
            for (const text of queued.release(index)) run.deltas(Event.TEXT_DELTA, meta)?.({ text })
          }),
        ),
      )
    }),
  )
  const settled = await settleUncertain(durable, run, iteration, runnable, ends, lanes)
  const round = summarise(calls, settled)
  if (round.pending.length === 0) return round
  // Whoever aborts a run does not want it to wait, and what is left must be a whole conversation.
  const interrupted = await durable.step(`${iteration}.pause`, async () => run.interruption ?? null)
  return interrupted === null ? round : summarise(calls, await cancelWaiting(durable, run, iteration, calls, settled))
}

/** Calls written as text run one after the other unless told otherwise, as they were written to be read. */
function lanesFor(planned: readonly PlannedCall[], { settings, limits }: LiveRun): number {
  return settings.toolConcurrency === undefined && planned.some(({ asText }) => asText) ? 1 : limits.toolConcurrency
}

async function cancelWaiting(
  durable: Durable,
  run: LiveRun,
  iteration: number,
  calls: readonly PlannedCall[],
  ends: readonly CallEnd[],
): Promise<CallEnd[]> {
  const ended = ends.filter(({ question }) => question === undefined)
  const waiting = calls.map((call, index) => ({ call, index })).filter(({ call }) => !ended.some(({ record }) => record.id === call.id))
  const cancelled = await durable.all(
    waiting.map(({ call, index }) => {
      const key = `${iteration}.tool.${index}.cancelled`
      const asked = ends.some(({ record }) => record.id === call.id)
      return durable.step(key, async (step) => new CallInFlight(run, call, iteration, durable, key, step).cancel(asked))
    }),
  )
  return [...ended, ...cancelled]
}

function summarise(calls: readonly PlannedCall[], ends: readonly CallEnd[]): ToolRound {
  const round: ToolRound = { records: [], pending: [] }
  const byId = new Map(ends.map((end) => [end.record.id, end]))
  for (const call of calls) {
    const end = byId.get(call.id)
    const waits = { toolCallId: call.id, tool: call.name, args: call.args ?? {} }
    if (end === undefined) round.pending.push({ kind: call.approval === true ? 'approval' : 'client_tool', ...waits })
    else if (end.question !== undefined) round.pending.push({ kind: 'question', ...waits, ...end.question })
    else {
      round.records.push(end.record)
      if (end.final && end.record.outcome === 'ok') round.final ??= end.record
    }
    if (end?.interrupted !== undefined) round.interrupted = end.interrupted
  }
  return round
}

/** Asks for each approval in turn, where there is someone to ask. An approved call runs, a refused one is answered with the reason. */
async function decideApprovals(durable: Durable, run: LiveRun, iteration: number, planned: readonly PlannedCall[]): Promise<PlannedCall[]> {
  const { approve } = run.settings
  const calls: PlannedCall[] = []
  for (const [index, call] of planned.entries()) {
    if (call.approval === undefined || approve === undefined) {
      calls.push(call)
      continue
    }
    const decision = await durable.step(`${iteration}.approve.${index}`, async (): Promise<Decision> => {
      const cancelled = { approved: false, cancelled: true }
      try {
        if (run.interruption !== undefined) return cancelled
        const request = {
          toolCallId: call.id,
          tool: call.name,
          args: copyJson(call.args ?? {}),
          runId: run.runId,
          context: run.settings.context as never,
          signal: run.signal,
        }
        const answer = await run.untilInterrupted(Promise.resolve(approve(request)))
        return run.interruption === undefined ? readDecision(answer) : cancelled
      } catch (error) {
        const tool = run.registry.get(call.name)
        const failure = tool === undefined ? {} : loggedFailure({ tool, args: call.args ?? {} }, error)
        run.logger.error({ runId: run.runId, tool: call.name, ...failure }, 'approve threw; the call is refused')
        return { approved: false, reason: 'the approval failed' }
      }
    })
    if (decision.approved) {
      const { approval: _, ...approved } = call
      calls.push(approved)
      continue
    }
    const { approval: _, ...refused } = call
    const text = `The call to \`${call.name}\` was refused${decision.reason === undefined ? '.' : `: ${decision.reason}`}`
    const refusal: PlannedCall['refusal'] = decision.cancelled
      ? { code: 'tool_cancelled', text: cancelledText(call.name) }
      : { code: 'tool_denied', text }
    calls.push({ ...refused, action: 'reject', refusal })
  }
  return calls
}

interface Decision {
  approved: boolean
  reason?: string
  /** The run ended before there was a decision. */
  cancelled?: boolean
}

function readDecision(answer: ApprovalDecision | undefined): Decision {
  if (typeof answer === 'object' && answer !== null) {
    return { approved: answer.approved === true, ...(typeof answer.reason === 'string' ? { reason: answer.reason } : {}) }
  }
  return { approved: answer === true }
}

/**
 * A call that may have taken effect and can't find out is put to whoever can decide, one after another: run it again, or go on without.
 * Where nobody can be asked, or nobody answered, the model is told that it is not known.
 */
async function settleUncertain(
  durable: Durable,
  run: LiveRun,
  iteration: number,
  runnable: readonly { call: PlannedCall; index: number }[],
  ends: readonly CallEnd[],
  lanes: Lanes,
): Promise<CallEnd[]> {
  const again = new Map<number, { call: PlannedCall; index: number }>()
  for (const [at, end] of ends.entries()) {
    const entry = runnable[at]
    if (end.record.outcome !== 'uncertain' || entry === undefined) continue
    const about = { kind: 'uncertain', toolCallId: entry.call.id, tool: entry.call.name, args: entry.call.args ?? {} }
    const decision = await durable.wait<{ run: boolean }>(`${iteration}.tool.${entry.index}.uncertain`, { about })
    if (decision?.run === true) again.set(at, entry)
    else {
      const key = `${iteration}.tool.${entry.index}.left`
      await durable.step(key, async (step) => new CallInFlight(run, entry.call, iteration, durable, key, step).leaveUncertain())
    }
  }
  const began =
    durable.survivesCrashes && again.size > 0
      ? await durable.step(`${iteration}.round.again`, async () => durable.attempt)
      : durable.attempt
  const rerun = await durable.all(
    [...again].map(([at, { call, index }]) => {
      const key = `${iteration}.tool.${index}.again`
      return durable.step(key, async (step) => ({
        at,
        end: await new CallInFlight(run, call, iteration, durable, key, step).finish(lanes, began !== durable.attempt, () => {}),
      }))
    }),
  )
  return ends.map((end, at) => rerun.find((one) => one.at === at)?.end ?? end)
}

/** The tool message of a call's record. */
export function toResultMessage({ id, tool, content, outcome }: ToolCallRecord, note?: string): ToolResultMessage {
  const told =
    note === undefined
      ? content
      : typeof content === 'string'
        ? `${content}\n\n${note}`
        : [...content, { type: 'text' as const, text: note }]
  return { role: 'tool', content: told, toolCallId: id, name: legalName(tool), ...(outcome === 'ok' ? {} : { isError: true }) }
}
