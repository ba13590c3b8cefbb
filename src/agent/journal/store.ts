import { InvalidOptionError, ToolloopError } from '../../core/errors.ts'
import type { Json, JsonObject } from '../../core/messages.ts'
import type { RunStatus } from '../../core/runs/run-states.ts'
import type { PruneOptions, RecordEntry, RunPage, RunQuery, RunSummary } from './journal.ts'

/**
 * Where `storeJournal` keeps runs. Each call is one transaction: it happens as a whole, and has outlived the process when it resolves. One
 * instance is one owner of runs; a process that dies loses all it owns. Values are JSON texts. Rejects with `journal_failed` where
 * the store can't be read or written.
 */
export interface Store {
  /**
   * Makes this instance the owner of the run, which is recorded first if it is new. Rejects with `unknown_run` without `created` for one that
   * is not known, and with `journal_failed` for one of another agent or of a newer loop.
   */
  take(runId: string, created?: NewRun): Promise<Taken | NotTaken>
  /** Records a step. As `keep`, `append`, `noteTries`, `finish` and `suspend`, rejects with `run_taken_over` when the run is not this instance's in this epoch. */
  record(runId: string, epoch: number, key: string, value: string): Promise<void>
  /** Keeps a text beside the steps; see `Durable.keep`. Rejects as `record` does. */
  keep(runId: string, epoch: number, text: KeptText, maxBytes: number): Promise<boolean>
  /** The value of a text that was kept. */
  kept(runId: string, name: string): Promise<string | undefined>
  /** Adds an entry to the record of a call; see `Durable.append`. Rejects as `record` does. */
  append(runId: string, epoch: number, record: string, entry: StoredEntry): Promise<void>
  /** The entries of a record, by position. */
  entries(runId: string, record: string): Promise<StoredEntry[]>
  /** Notes how many processes in a row have begun to carry a step out, and have not recorded it. */
  noteTries(runId: string, epoch: number, tries: number): Promise<void>
  /** Records how the run ended, forgets its steps, the texts that it kept and the records of its calls, and lets go of it. */
  finish(runId: string, epoch: number, output: string, outcome: Outcome): Promise<void>
  /** The run has to wait: lets go of it; or, where it can go on already, gives what it goes on from. */
  suspend(runId: string, epoch: number, suspension: Suspension): Promise<Taken | undefined>
  /** Lets go of a run that broke off, and notes why, if there is a problem, and `tries` if given. Does nothing when it is not this instance's any more. */
  release(runId: string, epoch: number, problem: string | undefined, tries?: number): Promise<void>
  /** Stores decisions, all or none. Rejects with `unknown_run` or `decision_refused`. */
  deliver(runId: string, decisions: readonly NamedValue[]): Promise<void>
  /** Notes that the run is to be cancelled, unless it has ended. Rejects with `unknown_run`. */
  cancel(runId: string, reason: string): Promise<void>
  /** Runs of this instance that are to be cancelled. */
  cancelled(): Promise<{ runId: string; reason: string }[]>
  get(runId: string): Promise<StoredRun | undefined>
  /** The run's status, and its steps but for those that are `known` by their keys, in any order. Undefined for one that is not known. */
  news(runId: string, known: readonly string[]): Promise<RunNews | undefined>
  list(query: RunQuery): Promise<RunPage>
  /** Runs that could go on, and that no other living instance owns, the oldest first. */
  pending(): Promise<string[]>
  /** May take several transactions. */
  prune(which: PruneOptions): Promise<number>
  /** Calls `lost` when this instance loses all the runs it owns without having been closed. It can be used on, as a new owner. */
  onLost?(lost: (problem: ToolloopError) => void): void
  /**
   * Lets go of all runs, as they are but for their `tries`, which are noted as far as the store can be written. Later calls, and those under way,
   * reject with `journal_failed`.
   */
  close(tries?: readonly RunTries[]): Promise<void>
}

export interface RunNews {
  status: RunStatus
  steps: NamedValue[]
}

/** What `noteTries` notes of a run. */
export interface RunTries {
  runId: string
  epoch: number
  tries: number
}

export interface NewRun {
  input: string
  /** The version of the loop. */
  loop: number
  metadata?: JsonObject | undefined
  session?: string | undefined
}

export interface NamedValue {
  name: string
  value: string
}

/** An entry of a record; its value is a JSON text. */
export interface StoredEntry extends Omit<RecordEntry, 'value'> {
  value: string
}

/** A long text, as JSON. */
export interface KeptText extends NamedValue {
  /** Of the text itself, in UTF-8. */
  bytes: number
}

/**
 * A store with a workflow engine, which carries runs and steps out instead of only recording them. What `take` and `suspend` give has no steps:
 * `execute` has them.
 */
export interface EngineStore extends Omit<Store, 'record'> {
  /**
   * Carries out, as a workflow, what the run does until it has ended or waits. `work` is called once, with the steps recorded so far, and
   * its outcome passed on.
   */
  execute<T extends Outcome>(runId: string, epoch: number, work: (steps: readonly NamedValue[]) => Promise<T>): Promise<T>
  /**
   * Carries `work` out as a step of that workflow, records its value, and resolves with it. Rejects with `run_taken_over` without having begun
   * it when the run is not this instance's in this epoch.
   */
  step(runId: string, epoch: number, key: string, work: () => Promise<string>): Promise<string>
}

/** What an execution has come to. */
export interface Outcome {
  stopReason: string
  /** The model that was asked last, as `provider/model`. */
  model?: string
}

/** What a run goes on from. */
export interface Taken {
  kind: 'taken'
  epoch: number
  /** Absent for a run that was recorded by this very call. */
  input?: string
  steps: readonly NamedValue[]
  /**
   * What is decided as far as this execution goes. The same for each attempt at it: what is decided meanwhile counts once the run has waited
   * again, or two attempts would see different things.
   */
  decisions: readonly NamedValue[]
  /** Why it is to be cancelled, if it is. */
  cancelled?: string
  /** As noted with `noteTries`. Of a new run 0. */
  tries: number
  /** It was another owner's, who is dead. */
  hasDied: boolean
}

/** Why a run is not to be carried out here and now. */
export interface NotTaken {
  kind: 'ended' | 'waiting' | 'elsewhere'
}

export interface Suspension {
  /** What the run has come to. */
  output: string
  /** See `Outcome`. */
  model?: string
  waits: readonly { name: string; timeoutMs?: number }[]
  /** Steps that are forgotten: they are done anew when it goes on. */
  forget: readonly string[]
}

export interface StoredRun extends RunSummary {
  input: string
  output?: string
  waits: string[]
}

/** How many runs a list shows at most. */
export const mostRuns = 1_000
/** The last moment there is, in milliseconds since 1970. https://tc39.es/ecma262/#sec-time-values-and-time-range */
export const endOfTime = 8.64e15

/** The value of a wait that nobody has decided in time, as JSON. */
export const expiredText = 'null'

export function unknownRun(runId: string): ToolloopError {
  return new ToolloopError('unknown_run', `Expected the id of a run in the journal, got \`${runId}\``)
}

export function takenOver(runId: string): ToolloopError {
  return new ToolloopError('run_taken_over', `Another process executes run \`${runId}\` now: nothing more is recorded here`)
}

/** What was recorded of a run, read. Rejects what is no JSON, naming the run and what of it that is. */
export function parseStored(text: string, runId: string, name: string): Json {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ToolloopError('journal_failed', `Run \`${runId}\` can’t be read: \`${name}\` is not what was recorded`, { cause })
  }
}

export function entryTaken(runId: string, record: string, { position }: Pick<RecordEntry, 'position'>): ToolloopError {
  return new ToolloopError('journal_failed', `Entry ${position} of record \`${record}\` of run \`${runId}\` is stored already`)
}

export function isTakenOver(error: unknown): boolean {
  return ToolloopError.isInstance(error) && error.code === 'run_taken_over'
}

export function decisionRefused(runId: string, name: string, why: string): ToolloopError {
  return new ToolloopError('decision_refused', `The decision on \`${name}\` of run \`${runId}\` was not stored: ${why}`)
}

/** The running number of the last run on the page before. Throws `invalid_option`. */
export function cursorOf(cursor: string): number {
  const n = Number(cursor)
  if (cursor === '' || !Number.isSafeInteger(n)) throw new InvalidOptionError('cursor', 'the `next` of an earlier page', cursor)
  return n
}
