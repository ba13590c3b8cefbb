import { Event } from '../../core/events.ts'
import type { ToolResultMessage } from '../../core/messages.ts'
import { Lanes } from '../../tools/concurrency.ts'
import { decideApprovals } from '../decisions/approvals.ts'
import { type CallWork, settleWaiting, type WaitingCall, waitingCall, withNote } from '../decisions/pending-calls.ts'
import { type Durable, tagsOf } from '../durable/journal.ts'
import type { Handover } from '../nested/handoff.ts'
import type { LiveRun } from '../run/run-context.ts'
import { QueuedText } from '../text-calls/deferred-text.ts'
import type { PendingItem, ToolCallRecord } from '../types.ts'
import { legalName, type PlannedCall } from './prepare-calls.ts'
import { type CallEnd, CallInFlight } from './tool-call.ts'

/** What a round came to, in the order of the calls. */
export interface ToolRound {
  records: ToolCallRecord[]
  pending: PendingItem[]
  /** The result of a tool whose result is the run's output. */
  final?: ToolCallRecord
  /** The conversation is another agent's from now on; of several, the last counts. */
  handover?: Handover
  /** Why a guardrail ends the run. */
  stop?: string
  interrupted?: 'aborted' | 'deadline'
}

/** Starts calls by `carryOut`, each in its time; resolves with their ends, in the order of the work. */
export type StartCalls = (work: readonly CallWork[], carryOut: (work: readonly CallWork[]) => Promise<CallEnd[]>) => Promise<CallEnd[]>

const startAll: StartCalls = (work, carryOut) => carryOut(work)

/**
 * Answers all calls of one turn. They are started in their order in one tick, each as the step `${iteration}.tool.${index}`; refused ones
 * too, so that every call has its record. Those that wait for somebody come last. Never rejects for a fault of a tool.
 */
export async function runToolRound(
  durable: Durable,
  run: LiveRun,
  iteration: number,
  planned: readonly PlannedCall[],
  start: StartCalls = startAll,
): Promise<ToolRound> {
  const calls = await decideApprovals(durable, run, iteration, planned)
  const round = new RoundInFlight(durable, run, iteration, calls)
  const isWaiting = ({ approval, action }: PlannedCall) => approval !== undefined || action === 'client'
  const free = calls.flatMap((call, index) => (isWaiting(call) ? [] : [{ call, index, key: `${iteration}.tool.${index}`, run: finish }]))
  const ends = await start(free, (work) => round.carryOut(work))
  const waiting = calls.flatMap((call, index): WaitingCall[] => {
    if (isWaiting(call)) return [waitingCall(run.runId, iteration, call, index)]
    const question = ends.find(({ record }) => record.id === call.id)?.question
    return question === undefined ? [] : [waitingCall(run.runId, iteration, call, index, question)]
  })
  const settled = ends.filter(({ question }) => question === undefined)
  if (waiting.length === 0) return summarise(calls, settled)
  // Whoever aborts a run does not want it to wait, and what is left must be a whole conversation. In memory nothing waits for long.
  const isOver = durable.survivesCrashes && (await durable.step(`${iteration}.wait`, async () => run.interruption !== undefined))
  if (isOver) return summarise(calls, [...settled, ...(await round.cancel(waiting))])
  const { ends: decided, left } = await settleWaiting(durable, run, iteration, waiting, (work) => round.carryOut(work))
  const interrupted = left.length > 0 && (await durable.step(`${iteration}.pause`, async () => run.interruption !== undefined))
  if (interrupted) return summarise(calls, [...settled, ...decided, ...(await round.cancel(left))])
  return summarise(calls, [...settled, ...decided], left)
}

const finish: CallWork['run'] = (flight, terms) => flight.finish(terms)

class RoundInFlight {
  readonly #durable: Durable
  readonly #run: LiveRun
  readonly #iteration: number
  readonly #lanes: Lanes
  readonly #queued: QueuedText
  #batches = 0

  constructor(durable: Durable, run: LiveRun, iteration: number, calls: readonly PlannedCall[]) {
    this.#durable = durable
    this.#run = run
    this.#iteration = iteration
    this.#lanes = new Lanes(lanesFor(calls, run))
    this.#queued = new QueuedText(calls)
  }

  /** Ends in the order of the work, all of it started in one tick. */
  async carryOut(work: readonly CallWork[]): Promise<CallEnd[]> {
    const name = this.#batches++ === 0 ? 'round' : `round.${this.#batches}`
    const mayHaveRun = await this.#mayHaveRun(name)
    const ends = await this.#durable.all(
      work.map((one) => {
        const meta = { iteration: this.#iteration, ...tagsOf(this.#durable, one.key) }
        const ended = () => {
          for (const text of this.#queued.release(one.index)) this.#run.deltas(Event.TEXT_DELTA, meta)?.({ text })
        }
        const step = this.#step(one, one.key, (flight) => one.run(flight, { lanes: this.#lanes, mayHaveRun, ended }))
        return this.#queued.after(one.index, step)
      }),
    )
    return this.#settleUncertain(work, ends)
  }

  /** Ends calls that wait for somebody when the run has to end. */
  cancel(waiting: readonly WaitingCall[]): Promise<CallEnd[]> {
    return this.#durable.all(
      waiting.map(({ call, index, item }) =>
        this.#step({ call }, `${this.#iteration}.tool.${index}.cancelled`, async (flight) => flight.cancel(item.kind === 'question')),
      ),
    )
  }

  #step<T>({ call }: Pick<CallWork, 'call'>, key: string, work: (flight: CallInFlight) => Promise<T>): Promise<T> {
    return this.#durable.step(key, (step) => work(new CallInFlight(this.#run, call, this.#iteration, this.#durable, key, step)))
  }

  /** A later execution that finds another attempt's token knows that a call without a record may have run all the same. */
  async #mayHaveRun(name: string): Promise<boolean> {
    const { survivesCrashes, attempt } = this.#durable
    return survivesCrashes && (await this.#durable.step(`${this.#iteration}.${name}`, async () => attempt)) !== attempt
  }

  /**
   * A call that may have taken effect and can't find out is put to whoever can decide, one after another: run it again, or go on without.
   * Where nobody can be asked, or nobody answered, the model is told that it is not known.
   */
  async #settleUncertain(work: readonly CallWork[], ends: readonly CallEnd[]): Promise<CallEnd[]> {
    const again = new Map<number, CallWork>()
    for (const [at, end] of ends.entries()) {
      const one = work[at]
      if (end.record.outcome !== 'uncertain' || one === undefined) continue
      const { call, key } = one
      const about = { kind: 'uncertain', toolCallId: call.id, tool: call.name, args: call.args ?? {} }
      const decision = await this.#durable.wait<{ run: boolean }>(`${key}.uncertain`, { about })
      if (decision?.run === true) again.set(at, one)
      else await this.#step(one, `${key}.left`, async (flight) => flight.leaveUncertain())
    }
    if (again.size === 0) return [...ends]
    const mayHaveRun = await this.#mayHaveRun('round.again')
    const rerun = await this.#durable.all(
      [...again].map(([at, one]) =>
        this.#step(one, `${one.key}.again`, async (flight) => ({
          at,
          end: await one.run(flight, { lanes: this.#lanes, mayHaveRun, ended: () => {} }),
        })),
      ),
    )
    return ends.map((end, at) => rerun.find((one) => one.at === at)?.end ?? end)
  }
}

/** Calls written as text run one after the other unless told otherwise, as they were written to be read. */
function lanesFor(calls: readonly PlannedCall[], { settings, limits }: LiveRun): number {
  return settings.toolConcurrency === undefined && calls.some(({ asText }) => asText) ? 1 : limits.toolConcurrency
}

function summarise(calls: readonly PlannedCall[], ends: readonly CallEnd[], left: readonly WaitingCall[] = []): ToolRound {
  const round: ToolRound = { records: [], pending: left.toSorted((a, b) => a.index - b.index).map(({ item }) => item) }
  const byId = new Map(ends.map((end) => [end.record.id, end]))
  for (const { id } of calls) {
    const end = byId.get(id)
    if (end === undefined) continue
    round.records.push(end.record)
    if (end.final && end.record.outcome === 'ok') round.final ??= end.record
    if (end.handover !== undefined) round.handover = end.handover
    if (end.stop !== undefined) round.stop ??= end.stop
    if (end.interrupted !== undefined) round.interrupted = end.interrupted
  }
  return round
}

/** The tool message of a call's record. */
export function toResultMessage({ id, tool, content, outcome }: ToolCallRecord, note?: string): ToolResultMessage {
  return {
    role: 'tool',
    content: withNote(content, note),
    toolCallId: id,
    name: legalName(tool),
    ...(outcome === 'ok' ? {} : { isError: true }),
  }
}
