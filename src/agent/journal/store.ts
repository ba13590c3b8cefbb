import { digestOf } from '../../core/digest.ts'
import { InvalidOptionError, ToolloopError } from '../../core/errors.ts'
import type { Json, JsonObject } from '../../core/messages.ts'
import type { RunStatus } from '../../core/runs/run-states.ts'
import type { PruneOptions, RecordEntry, RunPage, RunQuery, RunSummary } from './journal.ts'

/**
 * The store in which `storeJournal` keeps runs. Each call is one transaction: it happens completely or not at all, and is durable when it
 * resolves. Each instance owns the runs that it has taken. When the instance's process dies, other instances can take these runs. Values
 * are JSON texts.
 *
 * Contract: all methods are awaited, and reject with `journal_failed` if the store can't be read or written.
 */
export interface Store {
  /**
   * Makes this instance the owner of the run, and records the run first if it is new. Rejects with `unknown_run` for an unknown run without
   * `created`, and with `journal_failed` for a run of another agent or of a newer loop.
   */
  take(runId: string, created?: NewRun): Promise<Taken | NotTaken>
  /**
   * Records a step. Rejects with `run_taken_over` unless this instance owns the run in this epoch. The same applies to `keep`, `append`,
   * `noteTries`, `finish` and `suspend`.
   */
  record(runId: string, epoch: number, key: string, value: string): Promise<void>
  /** Stores a text until the run has ended; see `Durable.keep`. Rejects like `record`. */
  keep(runId: string, epoch: number, text: KeptText, maxBytes: number): Promise<boolean>
  /** The value of a text stored by `keep`. */
  kept(runId: string, name: string): Promise<string | undefined>
  /** Adds an entry to the record of a call; see `Durable.append`. Rejects like `record`. */
  append(runId: string, epoch: number, record: string, entry: StoredEntry): Promise<void>
  /** The entries of a record, by position. */
  entries(runId: string, record: string): Promise<StoredEntry[]>
  /** Stores how many processes in a row have died while executing this run, without recording another step. */
  noteTries(runId: string, epoch: number, tries: number): Promise<void>
  /** Records how the run ended, and releases the run. Deletes its steps, its stored texts and the records of its calls. */
  finish(runId: string, epoch: number, output: string, outcome: ExecutionOutcome): Promise<void>
  /**
   * Records that the run waits, and releases the run. If the run can already continue, does not release it, and returns its data instead.
   */
  suspend(runId: string, epoch: number, suspension: Suspension): Promise<Taken | undefined>
  /**
   * Releases a run whose execution failed. Stores `problem` and `tries` if they are given. Does nothing if this instance no longer owns the
   * run.
   */
  release(runId: string, epoch: number, problem: string | undefined, tries?: number): Promise<void>
  /** Stores decisions, all or none. Rejects with `decision_refused` like `Engine.deliver`, and with `unknown_run` for an unknown run. */
  deliver(runId: string, decisions: readonly NamedValue[]): Promise<void>
  /** Records that the run should be cancelled, unless it has ended. Rejects with `unknown_run` for an unknown run. */
  cancel(runId: string, reason: string): Promise<void>
  /** Runs of this instance that should be cancelled. */
  cancelled(): Promise<{ runId: string; reason: string }[]>
  get(runId: string): Promise<StoredRun | undefined>
  /** The run's status, and its steps in any order, except those whose keys are in `known`. Undefined for an unknown run. */
  news(runId: string, known: readonly string[]): Promise<RunNews | undefined>
  list(query: RunQuery): Promise<RunPage>
  /** Runs that can continue and that no other living instance owns, oldest first. */
  pending(): Promise<string[]>
  /** Deletes runs that have ended. May take several transactions. */
  prune(which: PruneOptions): Promise<number>
  /**
   * Registers `lost`, which is called if this instance loses all its runs without being closed. The instance can still be used, as a new
   * owner.
   *
   * Contract of `lost`: not awaited. Must not throw.
   */
  onLost?(lost: (problem: ToolloopError) => void): void
  /**
   * Releases all runs unchanged. Also stores their `tries` if the store can be written. Current and later calls reject with
   * `journal_failed`.
   */
  close(tries?: readonly RunTries[]): Promise<void>
}

export interface RunNews {
  status: RunStatus
  steps: NamedValue[]
}

/** The tries of a run, for `noteTries`. */
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

/** An entry of a record. Its value is a JSON text. */
export interface StoredEntry extends Omit<RecordEntry, 'value'> {
  value: string
}

/** A long text, as JSON. */
export interface KeptText extends NamedValue {
  /** The size of the text itself, in UTF-8 bytes. */
  bytes: number
}

/**
 * A store with a workflow engine, which executes runs and steps, and records them. `take` and `suspend` return no steps, because `execute`
 * passes the steps to its callback.
 */
export interface EngineStore extends Omit<Store, 'record'> {
  /**
   * Executes a run as a workflow until it has ended or waits. Calls `work` once, with the steps recorded so far, and resolves with its
   * outcome.
   */
  execute<T extends ExecutionOutcome>(runId: string, epoch: number, work: (steps: readonly NamedValue[]) => Promise<T>): Promise<T>
  /**
   * Executes `work` as a step of the run's workflow, and resolves with the recorded value. Rejects with `run_taken_over`, without calling
   * `work`, unless this instance owns the run in this epoch.
   */
  step(runId: string, epoch: number, key: string, work: () => Promise<string>): Promise<string>
}

export interface ExecutionOutcome {
  stopReason: string
  /** The model that was last asked, as `provider/model`. */
  model?: string
}

/** The data from which a run continues. */
export interface Taken {
  kind: 'taken'
  epoch: number
  /** The input of the run. Absent if this call has created the run. */
  input?: string
  steps: readonly NamedValue[]
  /** The decisions that this execution knows, in all of its attempts. Later decisions are used only after the run has waited again. */
  decisions: readonly NamedValue[]
  /** The reason for cancelling the run. Absent if the run was not cancelled. */
  cancelled?: string
  /** The count from `noteTries`. 0 for a new run. */
  tries: number
  /** Whether the run belonged to another owner, which has died. */
  hasDied: boolean
}

/** The reason why this process can't execute the run now. */
export interface NotTaken {
  kind: 'ended' | 'waiting' | 'elsewhere'
}

export interface Suspension {
  /** The run's output. */
  output: string
  /** See `ExecutionOutcome`. */
  model?: string
  waits: readonly { name: string; timeoutMs?: number }[]
  /** The keys of steps to delete. These steps are executed again when the run continues. */
  forget: readonly string[]
}

export interface StoredRun extends RunSummary {
  input: string
  output?: string
  waits: string[]
}

/** The largest number of runs in a list. */
export const mostRuns = 1_000
/** The latest possible time, in milliseconds since 1970. https://tc39.es/ecma262/#sec-time-values-and-time-range */
export const endOfTime = 8.64e15

/** The value of a wait that has timed out, as JSON. */
export const expiredText = 'null'

export function unknownRun(runId: string): ToolloopError {
  return new ToolloopError('unknown_run', `Expected the id of a run in the journal, got \`${runId}\``)
}

export function takenOver(runId: string): ToolloopError {
  return new ToolloopError('run_taken_over', `Another process executes run \`${runId}\` now: nothing more is recorded here`)
}

/** Parses a recorded value. Throws if it is not JSON, naming the run and the value. */
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

/** The sequence number of the last run on the previous page. Throws `invalid_option` for an invalid cursor. */
export function cursorOf(cursor: string): number {
  const n = Number(cursor)
  if (cursor === '' || !Number.isSafeInteger(n)) throw new InvalidOptionError('cursor', 'the `next` of an earlier page', cursor)
  return n
}

/** The number of characters of a tag. A tag of 32 characters has 192 bits, so nobody can find two fields with the same tag. */
const tagLength = 32

/**
 * The tags by which a run can be found. There is one tag for each metadata field that is a text, a number or a boolean. `7` and `'7'` have
 * the same tag, because values in URLs are always texts. Tags are digests, so a store contains nothing of the metadata itself.
 */
export function tagsOf(metadata: JsonObject = {}): string[] {
  return Object.entries(metadata).flatMap(([field, value]) =>
    value === null || typeof value === 'object' ? [] : [digestOf(JSON.stringify([field, String(value)])).slice(0, tagLength)],
  )
}
