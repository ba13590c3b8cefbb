import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import { InvalidOptionError, type ToolloopError } from '../../core/errors.ts'
import type { StopReason } from '../../core/events.ts'
import { isJsonObject, type Json, withoutUndefined } from '../../core/messages.ts'
import { isRunStatus } from '../../core/runs/run-states.ts'
import type { ToolSet } from '../../tools/registry.ts'
import { isWhole, itemFinder, verdictIn } from '../calls/waiting/verdict.ts'
import { RunControl } from '../conversation/run-input.ts'
import { checkNamesItem, type Decision } from '../decisions/decisions.ts'
import {
  type Engine,
  isRunProcess,
  type KeptRun,
  type PruneOptions,
  type RunPage,
  type RunQuery,
  type RunSummary,
} from '../journal/journal.ts'
import { decisionRefused, unknownRun } from '../journal/store.ts'
import { wholeResult } from '../runner/durable-run.ts'
import { RunStream, type Watch } from '../runner/run-stream.ts'
import type { PendingItem, RunResult } from '../types/options.ts'

/** A recorded run, with its result and pending calls. */
export interface JournalRun extends RunSummary {
  /** The items that wait for a decision. */
  pending: PendingItem[]
  /** The result, if the run has ended or waits. It is plain JSON, without the values that tools returned. */
  result?: StoredResult
}

/** A recorded result. Its error has only the code and the message. */
export type StoredResult = Omit<RunResult, 'error'> & { error?: Pick<ToolloopError, 'code' | 'message'> }

/** Options of `recover`. */
export interface RecoverOptions {
  /** Maximum number of runs to execute at once. An integer ≥ 1. Default 8. */
  concurrency?: number
}

/** A run that was continued. `stopReason`: how it ended or paused. `error`: why it was unable to continue. */
export interface RecoveredRun {
  runId: string
  stopReason?: StopReason
  error?: unknown
}

const queryNames: OptionNames<RunQuery> = {
  status: true,
  createdAfter: true,
  createdBefore: true,
  metadata: true,
  session: true,
  stopReason: true,
  model: true,
  process: true,
  limit: true,
  cursor: true,
}
const pruneNames: OptionNames<PruneOptions> = { olderThanMs: true, keep: true }

/**
 * The runs in a runner's journal. Each method rejects with `invalid_option` if there is no journal, or if the journal does not support the
 * method.
 */
export class Runs {
  readonly #engine: Engine | undefined
  /** Adds the messages of the session to a recorded result. */
  readonly #complete: (recorded: Json) => Promise<Json>

  readonly #watch: (runId: string, watch: Watch) => Promise<RunResult>

  /** @internal */
  constructor(
    engine: Engine | undefined,
    complete: (recorded: Json) => Promise<Json>,
    watch: (runId: string, watch: Watch) => Promise<RunResult>,
  ) {
    this.#watch = watch
    this.#engine = engine
    this.#complete = complete
  }

  /** Lists runs, newest first, one page at a time. */
  async list(query: RunQuery = {}): Promise<RunPage> {
    checkOptionNames(query, queryNames, '`runs.list`')
    const { limit, metadata = {}, process, status } = query
    if (status !== undefined && !isRunStatus(status)) throw new InvalidOptionError('status', '`running`, `waiting` or `ended`', status)
    if (!isFilter(metadata)) throw new InvalidOptionError('metadata', 'an object whose values are texts, numbers or booleans', metadata)
    if (process !== undefined && !isRunProcess(process)) throw new InvalidOptionError('process', '`alive` or `gone`', process)
    for (const name of ['session', 'stopReason', 'model'] as const)
      if (query[name] !== undefined && typeof query[name] !== 'string') throw new InvalidOptionError(name, 'a string', query[name])
    if (limit !== undefined && !isCount(limit, 1)) throw new InvalidOptionError('limit', 'an integer ≥ 1', limit)
    const { list } = openEngine(this.#engine)
    return list === undefined ? unable('lists its runs') : list(query)
  }

  /** Returns one run. Undefined if the journal doesn't know it. */
  async get(runId: string): Promise<JournalRun | undefined> {
    const kept = await keptRun(openEngine(this.#engine), runId)
    if (kept === undefined) return undefined
    const { input: _input, output, waits: _waits, ...summary } = kept
    const result = output === undefined ? {} : { result: (await this.#complete(output)) as never as StoredResult }
    return { ...summary, pending: pendingItems(kept), ...result }
  }

  /**
   * Streams the run from its beginning until it waits or has ended, in any process. Emits the recorded events first (`meta.recorded`), then
   * the live events of this process, and the turns and calls that other processes record. Reasoning and earlier events of nested runs are
   * missing, because they are not recorded. Leaving the iteration ends only the stream, not the run. Iterating rejects with `unknown_run`
   * if the journal doesn't know the run.
   */
  stream(runId: string): RunStream {
    return new RunStream<string>((watch) => this.#watch(runId, watch), new RunControl())
  }

  /**
   * Ends a run with `aborted`, in any process, even if it waits. Resolves when the cancellation is recorded. The run ends soon after;
   * `runner.resume(runId)` waits until it has ended. Does nothing to a run that has ended. Rejects with `unknown_run` for an unknown run.
   */
  async cancel(runId: string, reason?: string): Promise<void> {
    await openEngine(this.#engine).cancel(runId, reason)
  }

  /**
   * Deletes runs that have ended. Resolves with the number of deleted runs. A deleted id can be used for a new run. Rejects with
   * `invalid_option` if neither `olderThanMs` nor `keep` is given.
   */
  async prune(which: PruneOptions): Promise<number> {
    checkOptionNames(which, pruneNames, '`runs.prune`')
    const { olderThanMs, keep } = which
    if (olderThanMs === undefined && keep === undefined) throw new InvalidOptionError('prune', '`olderThanMs`, `keep`, or both', which)
    if (olderThanMs !== undefined && !(olderThanMs >= 0)) throw new InvalidOptionError('olderThanMs', 'milliseconds ≥ 0', olderThanMs)
    if (keep !== undefined && !isCount(keep, 0)) throw new InvalidOptionError('keep', 'an integer ≥ 0', keep)
    const { prune } = openEngine(this.#engine)
    return prune === undefined ? unable('deletes runs') : prune(which)
  }
}

/** Returns the engine. Throws `invalid_option` if there is no journal. */
export function openEngine(engine: Engine | undefined): Engine {
  if (engine === undefined) throw new InvalidOptionError('journal', 'an option of the runner: without a journal it keeps no runs')
  return engine
}

/** Resumes every run that can continue and that no process executes. Resolves when each of them has ended or waits for a decision. */
export async function recoverRuns(engine: Engine, { concurrency = 8 }: RecoverOptions, isClosing: () => boolean): Promise<RecoveredRun[]> {
  if (!isCount(concurrency, 1)) throw new InvalidOptionError('concurrency', 'an integer ≥ 1', concurrency)
  const recovered: RecoveredRun[] = []
  const known = new Set<string>()
  for (;;) {
    const open = (await engine.pending()).filter((runId) => !known.has(runId))
    if (open.length === 0 || isClosing()) return recovered
    for (const runId of open) known.add(runId)
    const next = open.values()
    const work = async () => {
      for (const runId of next) if (!isClosing()) recovered.push(await recoverRun(engine, runId))
    }
    await Promise.all(Array.from({ length: concurrency }, work))
  }
}

async function recoverRun(engine: Engine, runId: string): Promise<RecoveredRun> {
  try {
    await engine.start(runId)
    const output = await engine.result(runId)
    const stopReason = isJsonObject(output) ? (output.stopReason as never as StopReason) : undefined
    return { runId, ...withoutUndefined({ stopReason }) }
  } catch (error) {
    return { runId, error }
  }
}

/** The recorded run. Rejects with `unknown_run` if there is no such run. */
export async function knownRun(engine: Engine, runId: string): Promise<KeptRun> {
  const kept = await keptRun(engine, runId)
  if (kept === undefined) throw unknownRun(runId)
  return kept
}

/**
 * Stores all decisions on a run, or none. Rejects with `decision_refused` if a decision is not about a waiting call, is too late, or is the
 * second on the same call. Rejects with `invalid_option` if a decision is invalid.
 */
export async function storeDecisions(engine: Engine, kept: KeptRun, decisions: readonly Decision[], registry: ToolSet): Promise<void> {
  if (!Array.isArray(decisions)) throw new InvalidOptionError('decisions', 'an array', decisions)
  const { runId } = kept
  const values: { [name: string]: Json } = {}
  const items = itemsOf(kept)
  const ids = new Set(items.map(({ toolCallId }) => toolCallId))
  const itemOf = itemFinder(items)
  for (const [at, decision] of decisions.entries()) {
    const where = `decisions[${at}]`
    checkNamesItem(decision, where)
    const { toolCallId: called } = decision
    if (!ids.has(called)) throw decisionRefused(runId, called, 'nothing waits for it')
    const item = itemOf(decision)
    if (item === undefined || !isWhole(runId, item)) {
      throw decisionRefused(runId, called, 'its `fingerprint` is not that of the call that waits')
    }
    if (Object.hasOwn(values, item.place)) throw decisionRefused(runId, called, 'it is decided twice')
    values[item.place] = (await verdictIn(decision, item, { registry, where })) as Json
  }
  if (decisions.length > 0) await engine.deliver(runId, values)
}

/** The recorded run, with its whole result. */
export async function keptRun(engine: Engine, runId: string): Promise<KeptRun | undefined> {
  const kept = await (engine.get === undefined ? unable('finds its runs by their id') : engine.get(runId))
  return kept?.output === undefined ? kept : { ...kept, output: wholeResult(kept.output) }
}

/** The items that the run waited for when it last paused. */
function itemsOf({ output }: KeptRun): PendingItem[] {
  return isJsonObject(output) && Array.isArray(output.pending) ? (output.pending as never) : []
}

function pendingItems(kept: KeptRun): PendingItem[] {
  return kept.status === 'ended' ? [] : itemsOf(kept).filter(({ place }) => kept.waits.includes(place))
}

/** Throws `invalid_option`: the journal can't do what the called method needs. */
export function unable(can: string): never {
  throw new InvalidOptionError('journal', `one that ${can}`)
}

function isFilter(metadata: unknown): boolean {
  return isJsonObject(metadata) && Object.values(metadata).every((value) => ['string', 'number', 'boolean'].includes(typeof value))
}

function isCount(value: number, least: number): boolean {
  return Number.isSafeInteger(value) && value >= least
}
