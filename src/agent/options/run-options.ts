import { boolean, callback, expecting, type OptionChecks, textOrCallback, unchecked, withMethods } from '../../core/check-options.ts'
import type { MessageInput } from '../../core/message-input.ts'
import type { AnyModel } from '../../models/create-model.ts'
import type { ToolContext } from '../../tools/tool.ts'
import type { HookPlace } from '../callbacks/hooks.ts'
import { RunControl } from '../conversation/run-input.ts'
import type { Decision } from '../decisions/decisions.ts'
import type { Claim } from '../decisions/resume-claim.ts'
import type { RunRecorder } from '../observe/recorder.ts'
import type { OutputSchema } from '../output/output.ts'
import type { SessionOptions } from '../sessions/session-options.ts'
import type { AgentTools, ToolsFor } from '../types/typed.ts'
import { type RunSettings, runSettings } from './run-settings.ts'
import { checksOf } from './setting-row.ts'

/** Options of one run: all settings of a runner, and options that only a run has. */
export interface RunOptions<Context = unknown, Tools extends AgentTools = ToolsFor<Context>> extends RunSettings<Context> {
  /** Aborts the run. */
  signal?: AbortSignal
  /** The conversation so far, such as an earlier result's `messages`. The array is not modified. */
  messages?: readonly MessageInput[]
  /**
   * The id of the session to continue, in the runner's `sessions`, or `{ id, onBusy, replaces }`. The session is created if it does not
   * exist. When the run ends, its messages are added to the session in one transaction.
   */
  session?: string | SessionOptions
  /**
   * Your own object. It is passed to tools, hooks, approvals and instructions. It is never sent to a model, and never stored; see
   * `restore`. Required if the agent declares the type of its context.
   */
  context?: Context
  /** Replaces the runner's model. Default: the runner's model. */
  model?: AnyModel
  /** Replaces the runner's tools. Default: the runner's tools. */
  tools?: Tools
  /**
   * Replaces the runner's instructions. Default: the runner's instructions.
   *
   * Contract: as for the runner's `instructions`.
   */
  instructions?: RunInstructions<Context>
  /** The id of the run in events, logs and the journal. Default: random. */
  runId?: string
  /**
   * Called with the visible text as it arrives.
   *
   * Contract: not awaited. If it throws or rejects, the error is logged once, and the run continues.
   */
  onText?(delta: string): void
  /**
   * A `RunControl` that steers the run.
   *
   * @see [messages to a running agent](docs/long-conversations-and-steering.md#messages-to-a-running-agent)
   */
  control?: RunControl
  /**
   * Nests the run in another run: pass the `ctx` of a tool call, or the argument of a hook, a guardrail or `summarise`. The nested run
   * shares the signal, limits and budget of the outer run.
   *
   * Events of the nested run identify the outer run. The context, `approve` and telemetry of the outer run are the defaults. A journal
   * records a nested run only as part of the call that starts it.
   */
  parent?: NestingPlace<Context>
  /**
   * Records the inputs and results of the run and its nested runs to a file: the return value of `recordRun` of `toolloop/recording`.
   *
   * @see [record and replay](docs/recording.md)
   */
  recorder?: RunRecorder
  /** `true`: the outer run's stream includes this run's events. These events have `meta.parentRunId`. Default false. */
  forwardEvents?: boolean
}

/** Options of a run whose answer has a schema. */
export interface OutputOptions<S extends OutputSchema = OutputSchema> {
  /**
   * The schema of the answer. `result.output` is the value that the schema returns for the answer. The schema is not stored: pass it to
   * `resume` again.
   *
   * The run uses the provider's structured output if the provider supports it together with the run's tools. Otherwise, the model gives the
   * answer by calling a tool. If an answer doesn't fit the schema, the model is asked again, up to `outputRetries` times. After that, the
   * run ends with `model_error` and code `invalid_output`. The schema doesn't apply if a `final` tool of yours ends the run with `stopped`.
   *
   * @see [structured output](docs/structured-output.md)
   */
  output: S
}

/** Options of `resume`. Omitted options keep the values of the run. */
export interface ResumeOptions<Context = unknown, Tools extends AgentTools = ToolsFor<Context>>
  extends Omit<RunOptions<Context, Tools>, 'messages' | 'runId' | 'session' | 'instructions'> {
  /** Decisions on pending calls, in any order, such as `{ ...item, approved: true }`. Calls without a decision stay pending. */
  decisions?: readonly Decision[]
  /**
   * Decides which of several processes may resume a paused run. For example, inserts `key` with `INSERT … ON CONFLICT DO NOTHING`.
   *
   * Within one process, a state is never resumed twice at the same time. A claim outlives its process. If the process dies, the host has to
   * decide whether the state may be resumed again.
   *
   * Contract: called once, before anything is carried out. If it returns true, this caller continues. If it returns false, `resume` rejects
   * with `already_resumed`.
   *
   * @see [approvals](docs/approvals.md#one-state-several-processes)
   */
  claim?: Claim
  /**
   * `true`: resumes a state again after an attempt that broke off. An attempt breaks off if its process dies or its result can't be stored.
   * Default false.
   *
   * The earlier attempt may already have run the approved calls. Calls of `read` and `idempotent` tools run again, with the same
   * `idempotencyKey`. A call of an `unsafe` tool runs again only if the tool's `reconcile` says that it had no effect. If `reconcile` does
   * not say so, the outcome of the call is `uncertain`, and the model is told so. The run's work after these calls is lost. The option has
   * no effect with a journal, which has recorded the calls of the earlier attempt. In a session, resuming such a state without `again`
   * rejects with `already_resumed`.
   *
   * @see [approvals](docs/approvals.md#a-resumed-run-that-breaks-off)
   */
  again?: boolean
  /**
   * For `resumeStream` with the id of a recorded run: whether the stream starts with the earlier events (`meta.recorded`). Default true.
   *
   * With `originalMessages`, the response leaves out the parts of a message that the client already has.
   */
  replay?: boolean
}

/** Instructions of one run, or a function that returns them when the run starts. */
type RunInstructions<Context> = string | InstructionsMaker<Context>['make']
interface InstructionsMaker<Context> {
  // `make` is declared as a method, so that its parameter is compared bivariantly, like the parameters of a run's other callbacks.
  make(input: { context: Context }): string | undefined | Promise<string | undefined>
}

/** Places where a nested run can be started. */
export type NestingPlace<Context = unknown> = ToolContext<Context> | HookPlace<Context>

/** Options that are not checked in this table are checked where they are used. */
export const runOptions: OptionChecks<RunOptions & OutputOptions> = {
  ...checksOf(runSettings),
  signal: withMethods('an AbortSignal', 'addEventListener', 'removeEventListener'),
  messages: unchecked,
  session: unchecked,
  context: unchecked,
  output: unchecked,
  model: unchecked,
  tools: unchecked,
  instructions: textOrCallback,
  runId: unchecked,
  onText: callback,
  control: expecting('a RunControl', (value) => value instanceof RunControl),
  parent: unchecked,
  recorder: withMethods('what `recordRun` of `toolloop/recording` gives', 'aroundExecution', 'aroundHooks', 'aroundRequest', 'aroundCall'),
  forwardEvents: unchecked,
}

const { messages: _, runId: __, session: ___, instructions: ____, ...resumable } = runOptions
export const resumeOptions: OptionChecks<ResumeOptions & OutputOptions> = {
  ...resumable,
  decisions: unchecked,
  claim: unchecked,
  again: boolean,
  replay: boolean,
}
