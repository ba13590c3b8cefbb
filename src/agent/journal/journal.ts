import type { ToolloopError } from '../../core/errors.ts'
import type { StopReason } from '../../core/events.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import type { RunStatus } from '../../core/runs/run-states.ts'

/** The argument of a step's function. */
export interface StepContext {
  readonly signal: AbortSignal
}

/**
 * The part of a journal that the loop uses. Outside `step` and `wait`, the loop is deterministic. A replay of the recorded values therefore
 * restores the loop's state.
 */
export interface Durable {
  readonly runId: string
  /** A random text for each execution of the run. */
  readonly attempt: string
  /**
   * The number of this execution of the run. Each later execution has a higher number. Systems outside the journal, such as sessions, use
   * the number to refuse writes of an earlier execution. Without the number, they can't tell executions apart.
   */
  readonly epoch?: number
  /** Whether recorded values outlive the process. */
  readonly survivesCrashes: boolean
  /** Whether an earlier execution has recorded a turn. A recording notes this, because it then starts in the middle of the run. */
  readonly resumed?: boolean
  /** The signal that is aborted when the run is cancelled from outside, or when the journal can no longer record it. */
  readonly signal?: AbortSignal
  /** The reason why the run has to end at once, without steps or events. Set if every process that resumed the run has died. */
  readonly givenUp?: string
  /**
   * Runs `fn` and records its value under `key`. If a value is recorded already, returns that value without running `fn`. The value must be
   * plain JSON, although the type doesn't require it. Rejects only if the engine itself fails. `about`: the pending item that the step
   * decides on. An engine can ignore `about`.
   */
  step<T>(key: string, fn: (step: StepContext) => Promise<T>, about?: object): Promise<T>
  /** Waits for steps that were started in the same tick. Resolves with their values, in the order of `steps`. */
  all<T>(steps: Promise<T>[]): Promise<T[]>
  /**
   * Waits for a value delivered from outside. Resolves with null if `timeoutMs` passes first. Resolves with undefined if the journal can't
   * wait beyond the end of this process. The run then pauses.
   */
  wait<T extends Json>(name: string, options?: { timeoutMs?: number; about?: Json }): Promise<T | null | undefined>
  /**
   * Stores a long text until the run has ended. Replaces an earlier text of the same name. Called inside steps. Resolves with false and
   * stores nothing if all texts of the run together would exceed `maxBytes` (UTF-8). If absent, large results are cut.
   */
  keep?(name: string, text: string, maxBytes: number): Promise<boolean>
  /** The text that this execution or an earlier execution has stored under this name. */
  kept?(name: string): Promise<string | undefined>
  /**
   * Adds an entry to the record of a call, from inside the call's step. Resolves when the entry is stored. Rejects if the position is
   * taken, because entries are never replaced. Entries are kept until the run has ended. If absent, a call that runs again starts over.
   */
  append?(record: string, entry: RecordEntry): Promise<void>
  /** The entries that this and earlier executions have added to a record, by position. */
  entries?(record: string): Promise<RecordEntry[]>
}

/** One entry in the record of a call. */
export interface RecordEntry {
  /** The entry's position in its record, counted from 0. */
  position: number
  /** Identifies what the entry is for. If the call runs again, the call uses the value only for the same purpose. */
  fingerprint: string
  value: Json
}

/** The workflow that a journal runs: the loop, from its JSON input to its JSON output. */
export type DurableBody = (durable: Durable, input: Json) => Promise<Json>

/**
 * The part of a journal that a runner uses. A journal that can look up its runs has `get`, `list` and `prune`. `runner.resume(runId)` needs
 * `get`; `runner.runs` needs all three.
 *
 * Contract: all methods are awaited. If a method rejects, the runner's method rejects too, and the record of the run is unchanged.
 */
export interface Engine {
  /**
   * Starts the run. Resumes a known run with its recorded `input`. Resolves when the start is recorded. Does nothing to a run that has
   * ended, waits for a decision, or is executed by another living process. Without `input`, rejects with `unknown_run` for an unknown run.
   * `metadata` and `session` of a new run are stored for `list`.
   */
  start(runId: string, input?: Json, metadata?: JsonObject, session?: string): Promise<void>
  /**
   * Stores a value for each of the named `wait`s, all or none. Rejects with `decision_refused` if a `wait` does not exist, has a value
   * already, or has timed out.
   */
  deliver(runId: string, values: { readonly [name: string]: Json }): Promise<void>
  /** Ends the run with `aborted`, in any process. Resolves when the cancellation is recorded. Does nothing to a run that has ended. */
  cancel(runId: string, reason?: string): Promise<void>
  /** Resolves with the run's output when the run has ended or waits for a decision. Rejects if the engine fails. */
  result(runId: string): Promise<Json>
  /** Ids of the runs that can continue and that no living process executes. */
  pending(): Promise<string[]>
  get?(runId: string): Promise<KeptRun | undefined>
  /**
   * The run's status, and its steps in any order, except those whose keys are in `known`. Used by `runs.stream`. Undefined for an unknown
   * run.
   */
  news?(runId: string, known: readonly string[]): Promise<{ status: RunStatus; steps: [key: string, value: Json][] } | undefined>
  /** Whether this process executes the run. */
  isHere?(runId: string): boolean
  list?(query: RunQuery): Promise<RunPage>
  /** Deletes runs that have ended, with everything that is recorded about them. Resolves with the number of deleted runs. */
  prune?(which: PruneOptions): Promise<number>
  /**
   * Stops resuming runs. Once `drained` has resolved, releases the runs that this connection executes: the connection records nothing more
   * about them, and any process can continue them. Their results, and later calls of `start`, reject with `problem`. Other connections of
   * the journal are not affected. Resolves when all executions have ended. If absent, `Journal.close` is called instead.
   */
  close?(drained: Promise<unknown>, problem: ToolloopError): Promise<void>
}

/**
 * Records runs, so that they survive the process.
 *
 * Contract: `connect` is called once by each runner, when it is created, and not awaited. If it throws, the constructor of the runner
 * throws. `close` is awaited.
 */
export interface Journal {
  connect(body: DurableBody): Engine
  /** Releases everything at once. Running runs stop where they are, as if the process had been killed, and any process can resume them. */
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
  /** How the run ended. `paused` while it waits. */
  stopReason?: StopReason
  createdAt: number
  updatedAt: number
  /** Why the last execution failed: an error of the journal or of the runner's setup. Absent if it did not fail. */
  problem?: string
  metadata?: JsonObject
  /** The id of the run's session. */
  session?: string
  /** The model that was last asked, as `provider/model`. Set only if the run has ended or waits. */
  model?: string
  /** For a `running` run: whether the process that executes it is alive. `gone`: the run must be resumed to continue. */
  process?: RunProcess
}

/** A recorded run, as a journal returns it. */
export interface KeptRun extends RunSummary {
  input: Json
  /** The output of the run. Set only if the run has ended or waits. */
  output?: Json
  /** Names of the `wait`s that have no value yet. */
  waits: string[]
}

/** Selects runs for a list, newest first. */
export interface RunQuery {
  status?: RunStatus
  /** Only runs created at this time or later, in milliseconds since 1970. */
  createdAfter?: number
  createdBefore?: number
  /** Only runs whose `metadata` has each of these values. Values are compared as texts. */
  metadata?: Readonly<Record<string, string | number | boolean>>
  /** Only runs of this session. */
  session?: string
  /** Only runs that ended for this reason. `paused` selects runs that wait. */
  stopReason?: StopReason
  /** Only ended or waiting runs whose last request went to this model (`provider/model`). */
  model?: string
  /** Only `running` runs whose process is alive, or whose process is gone. */
  process?: RunProcess
  /** Default 50, at most 1000. */
  limit?: number
  /** The `next` of the previous page. */
  cursor?: string
}

/** One page of a list of runs. */
export interface RunPage {
  runs: RunSummary[]
  /** The cursor of the next page. Absent on the last page. */
  next?: string
}

/** Selects runs to delete, among those that have ended. If both limits are set, a run that exceeds either is deleted. */
export interface PruneOptions {
  /** How long a run is kept after it has ended, in milliseconds. */
  olderThanMs?: number
  /** Maximum number of runs to keep. The newest runs are kept. */
  keep?: number
}

/** The version of the loop's step keys and recorded values. A run recorded by a newer version is not resumed. */
export const loopVersion = 1

/** Replacements for the methods `step` and `wait` of a `Durable`. */
export type AroundSteps = Pick<Durable, 'step' | 'wait'>

/** Returns `steps` with the methods of `around`. */
export function aroundSteps(steps: Durable, around: AroundSteps): Durable {
  return new Proxy(steps, {
    get(port, name) {
      if (name === 'step' || name === 'wait') return around[name].bind(around)
      const own: unknown = Reflect.get(port, name)
      return typeof own === 'function' ? own.bind(port) : own
    },
  })
}

/** The names of the `wait`s of a paused run, read from its output. Undefined if the run has ended. */
export function waitsOf(output: Json): string[] | undefined {
  if (!isJsonObject(output) || output.stopReason !== 'paused') return undefined
  const pending = Array.isArray(output.pending) ? output.pending : []
  return pending.flatMap((item) => (isJsonObject(item) && typeof item.place === 'string' ? [item.place] : []))
}

/** The fields of an event that identify its step and the attempt at the step. Set if the step may run again. */
export type StepTags = { step?: string; attempt?: string }
