import type { ToolloopError } from '../../core/errors.ts'
import type { StopReason } from '../../core/events.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import type { RunStatus } from '../../core/runs/run-states.ts'

/** The argument of the work of a step. */
export interface StepContext {
  readonly signal: AbortSignal
}

/**
 * What the loop uses of a journal. Outside `step` and `wait` the loop computes only from its input and from recorded values, so that
 * running it again over the recorded values takes it to where it was.
 */
export interface Durable {
  readonly runId: string
  /** Random for each execution of the run; compared only inside a step. */
  readonly attempt: string
  /**
   * Counts the executions of the run: a later one has a higher number. What is outside of the record, such as a session, refuses an earlier execution
   * by it. Absent: nothing tells an earlier execution from a later one there.
   */
  readonly epoch?: number
  /** Whether recorded values outlive the process. */
  readonly survivesCrashes: boolean
  /** Whether an earlier execution has recorded a turn. Only for a recording of the run, which says then that it begins in the middle. */
  readonly resumed?: boolean
  /** Aborted when the run is cancelled from outside, or its record can't be kept any longer. */
  readonly signal?: AbortSignal
  /** Why the run is to end with nothing of it replayed, carried out or told: each process that took it up has died. */
  readonly givenUp?: string
  /**
   * Runs `fn` and records its value under `key`, or gives the recorded value without running it. The value is plain JSON (the type
   * can't say so: an interface is never assignable to `Json`). Rejects only for a fault of the engine. `about`: what is decided in the step, as for
   * `wait`; an engine has no use for it.
   */
  step<T>(key: string, fn: (step: StepContext) => Promise<T>, about?: object): Promise<T>
  /** Joins steps that were started in the same tick; resolves in their order. */
  all<T>(steps: Promise<T>[]): Promise<T[]>
  /**
   * Waits for a value delivered from outside; null when the time is over. Undefined where nothing outlives the process to wait in: the run
   * has to pause.
   */
  wait<T extends Json>(name: string, options?: { timeoutMs?: number; about?: Json }): Promise<T | null | undefined>
  /**
   * Keeps a long text beside the steps, until the run has ended; one of the same name is replaced. Called inside steps. False, and nothing kept,
   * where the run's texts would have more than `maxBytes` together (UTF-8). Absent: long results are cut.
   */
  keep?(name: string, text: string, maxBytes: number): Promise<boolean>
  /** A text that this or an earlier execution has kept. */
  kept?(name: string): Promise<string | undefined>
  /**
   * Adds an entry to the record of a call, from inside the call's step. Resolves when the entry is stored. Entries are never replaced: rejects if the
   * position is taken. They are kept until the run has ended. Absent: a call that runs again starts over.
   */
  append?(record: string, entry: RecordEntry): Promise<void>
  /** The entries that this and earlier executions have added to a record, by position. */
  entries?(record: string): Promise<RecordEntry[]>
}

/** One entry in the record of a call. */
export interface RecordEntry {
  /** Counts the entries of a record from 0. */
  position: number
  /** Says what the entry is for. A call that runs again uses the value only for the same thing. */
  fingerprint: string
  value: Json
}

/** The workflow that a journal runs: the loop, from its JSON input to its JSON output. */
export type DurableBody = (durable: Durable, input: Json) => Promise<Json>

/**
 * What a runner uses of a journal. `get`, `list` and `prune` are there where the journal can find its runs again: `runner.resume(runId)`
 * needs `get`, `runner.runs` all three.
 */
export interface Engine {
  /**
   * Starts the run, or takes it up again if it is known; its `input` is the recorded one then. Resolves when it is recorded. Nothing happens
   * to a run that has ended, waits for a decision, or is carried out by another living process. Without `input` a run that is not known
   * rejects with `unknown_run`. `metadata` and `session`: of a new run, for `list`.
   */
  start(runId: string, input?: Json, metadata?: JsonObject, session?: string): Promise<void>
  /**
   * Stores values for the `wait`s of those names: all of them, or none. Rejects with `decision_refused` for a name that nothing waits for,
   * that has a value already, or whose time is over.
   */
  deliver(runId: string, values: { readonly [name: string]: Json }): Promise<void>
  /** Ends the run with `aborted`, wherever it is carried out. Resolves when that is recorded; does nothing to a run that has ended. */
  cancel(runId: string, reason?: string): Promise<void>
  /** The run's output, once it has ended or waits for a decision. Rejects for a fault of the engine. */
  result(runId: string): Promise<Json>
  /** Ids of the runs that could go on and that no living process carries out. */
  pending(): Promise<string[]>
  get?(runId: string): Promise<KeptRun | undefined>
  /**
   * The run's status, and its steps but for those that are `known` by their keys, in any order: for `runs.stream`. Undefined for one that is not known.
   */
  news?(runId: string, known: readonly string[]): Promise<{ status: RunStatus; steps: [key: string, value: Json][] } | undefined>
  /** Whether this process carries the run out. */
  isHere?(runId: string): boolean
  list?(query: RunQuery): Promise<RunPage>
  /** Deletes runs that have ended, with all that is recorded of them. Resolves with how many. */
  prune?(which: PruneOptions): Promise<number>
  /**
   * From now on takes no runs up by itself. When `drained` has resolved, lets go of those that this connection executes: as if its process had been
   * killed, nothing more of them is recorded here, and any process can continue them. Their results, and later calls of `start`, reject with
   * `problem`. Other connections of the journal are not concerned. Resolves when all executions are over. Absent: `Journal.close` is called instead.
   */
  close?(drained: Promise<unknown>, problem: ToolloopError): Promise<void>
}

/** Records runs, so that they survive the process. `connect` is called once by each runner. */
export interface Journal {
  connect(body: DurableBody): Engine
  /**
   * Lets go of everything at once. Runs that are being carried out stop where they are, as they would if the process were killed, and any
   * process can take them up.
   */
  close?(): Promise<void>
}

/** Whether the process that executes a run is alive. */
export type RunProcess = 'alive' | 'gone'

export function isRunProcess(given: unknown): given is RunProcess {
  return given === 'alive' || given === 'gone'
}

/** A run in a list. Times are in milliseconds since 1970. */
export interface RunSummary {
  runId: string
  status: RunStatus
  /** How it ended; `paused` while it waits. */
  stopReason?: StopReason
  createdAt: number
  updatedAt: number
  /** Why the last attempt at it broke off, where it did: a fault of the journal, or of how its runner is set up. */
  problem?: string
  metadata?: JsonObject
  /** The id of its session. */
  session?: string
  /** The model that it asked last, as `provider/model`; of one that has ended or waits. */
  model?: string
  /** Of one that is `running`: whether the process that executes it is alive. `gone`: it is not executed until another process resumes it. */
  process?: RunProcess
}

/** A recorded run, as a journal returns it. */
export interface KeptRun extends RunSummary {
  input: Json
  /** Of one that has ended or waits. */
  output?: Json
  /** Names of the `wait`s that have no value yet. */
  waits: string[]
}

/** Which runs to list, newest first. */
export interface RunQuery {
  status?: RunStatus
  /** In milliseconds since 1970. */
  createdAfter?: number
  createdBefore?: number
  /** Only runs whose `metadata` has each of these values. They are compared as texts. */
  metadata?: Readonly<Record<string, string | number | boolean>>
  /** Only runs of this session. */
  session?: string
  /** Only runs that ended for this reason; `paused`: those that wait. */
  stopReason?: StopReason
  /** Only runs that have ended or wait, and that asked this model last, as `provider/model`. */
  model?: string
  /** Only runs that are `running`: those that a living process executes, or those whose process is gone. */
  process?: RunProcess
  /** Default 50, at most 1000. */
  limit?: number
  /** The `next` of the page before. */
  cursor?: string
}

/** One page of a list of runs. */
export interface RunPage {
  runs: RunSummary[]
  /** Where the next page begins; absent on the last. */
  next?: string
}

/** Which runs to delete, of those that have ended. With both limits, a run that exceeds either is deleted. */
export interface PruneOptions {
  /** How long a run is kept after it has ended, in milliseconds. */
  olderThanMs?: number
  /** How many are kept, the newest. */
  keep?: number
}

/** The version of the loop's keys and recorded values. A run recorded by a newer one is not taken up. */
export const loopVersion = 1

/** Where a run's output says that it waits; undefined for one that has ended. */
export function waitsOf(output: Json): string[] | undefined {
  if (!isJsonObject(output) || output.stopReason !== 'paused') return undefined
  const pending = Array.isArray(output.pending) ? output.pending : []
  return pending.flatMap((item) => (isJsonObject(item) && typeof item.place === 'string' ? [item.place] : []))
}

/** What an event carries of the step it came from, where that step may be carried out again. */
export type StepTags = { step?: string; attempt?: string }

/** What a run in memory has come to, as plain JSON. */
export interface RecordedSteps {
  steps: { [key: string]: Json }
  decisions: { [place: string]: Json }
  waitingSince: { [place: string]: number }
  /** Long results, by their ids. */
  kept?: { [id: string]: string }
  /** The records of calls that have not ended, by name. */
  records?: { [record: string]: RecordEntry[] }
  /** By which time what waits already is judged. Default: the time at which it is looked at. */
  asOf?: number
}
