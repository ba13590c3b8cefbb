import type { MessageInput } from '../../core/message-input.ts'
import { boolean, callback, expecting, type OptionChecks, unchecked } from '../../core/options/check-options.ts'
import type { AnyModel } from '../../models/create-model.ts'
import type { ToolContext } from '../../tools/tool.ts'
import type { HookPlace } from '../callbacks/hooks.ts'
import { RunControl } from '../conversation/run-control.ts'
import type { Decision } from '../decisions/decisions.ts'
import type { Claim } from '../decisions/resume-claim.ts'
import type { RunRecorder } from '../observe/recorder.ts'
import type { OutputSchema } from '../output/output.ts'
import type { SessionOptions } from '../sessions/session-options.ts'
import type { AgentTools, ToolsFor } from '../types/typed.ts'
import { type RunSettings, runSettings } from './run-settings.ts'
import { checksOf } from './setting-row.ts'

/** Options of one run: every setting of a runner, and those that only a run has. */
export interface RunOptions<Context = unknown, Tools extends AgentTools = ToolsFor<Context>> extends RunSettings<Context> {
  /** Aborts the run. */
  signal?: AbortSignal
  /** The conversation so far, such as an earlier result's `messages`. The array is not changed. */
  messages?: readonly MessageInput[]
  /**
   * The conversation that the run continues, by its id in the runner's `sessions`, or `{ id, onBusy, replaces }`. Created if it does not
   * exist. The messages that the run adds are stored when it ends, in one step.
   */
  session?: string | SessionOptions
  /**
   * Your own object, passed to tools, hooks, approvals and instructions. Never sent to a model, never stored: see `restore`. Required if
   * the agent's context has a type.
   */
  context?: Context
  /** Replaces the runner's model. Default: the runner's. */
  model?: AnyModel
  /** Replaces the runner's tools. Default: the runner's. */
  tools?: Tools
  /** Replaces the runner's instructions. Default: the runner's. */
  instructions?: RunInstructions<Context>
  /** The id of the run in events, logs and the journal. Default: random. */
  runId?: string
  /**
   * Called with the visible text as it arrives.
   *
   * Contract: not awaited. If it throws or rejects, that is logged once, and the run continues.
   */
  onText?(delta: string): void
  /**
   * A `RunControl` that steers the run.
   *
   * @see [messages to a running agent](docs/long-conversations-and-steering.md#messages-to-a-running-agent)
   */
  control?: RunControl
  /**
   * Where this run is made: the `ctx` of a tool call, or the argument of a hook, a guardrail or `summarise` of another run. The run shares
   * its signal, limits and budget.
   *
   * Events name that run, and its context, `approve` and telemetry are the defaults. A nested run is kept only in memory, or with the call
   * it is made in.
   */
  parent?: NestingPlace<Context>
  /**
   * Writes down the inputs and results of the run, and of every run inside it, for a file: what `recordRun` of `toolloop/recording`
   * returns.
   *
   * @see [record and replay](docs/recording.md)
   */
  recorder?: RunRecorder
  /** `true`: the outer run's stream includes this run's events. They have `meta.parentRunId`. Default false. */
  forwardEvents?: boolean
}

/** Options of a run whose answer has a schema. */
export interface OutputOptions<S extends OutputSchema = OutputSchema> {
  /**
   * The schema of the answer: `result.output` is the value that the schema returns for it. It is not stored: give it to `resume` again.
   *
   * The answer is requested by the provider's own means if it has them beside tools, else through a tool that gives the answer. An answer
   * that does not fit is sent back, see `outputRetries`; then the run ends with `model_error` and code `invalid_output`. If a `final` tool
   * of yours ends the run with `stopped`, the schema does not apply.
   *
   * @see [structured output](docs/structured-output.md)
   */
  output: S
}

/** Options of `resume`. Options that are not given stay as they were. */
export interface ResumeOptions<Context = unknown, Tools extends AgentTools = ToolsFor<Context>>
  extends Omit<RunOptions<Context, Tools>, 'messages' | 'runId' | 'session' | 'instructions'> {
  /** Decisions on pending calls, in any order, such as `{ ...item, approved: true }`. Calls without a decision stay pending. */
  decisions?: readonly Decision[]
  /**
   * Decides which of several processes continues a state. For example, an `INSERT … ON CONFLICT DO NOTHING` of `key`.
   *
   * Within one process no state is ever resumed twice at once. A claim outlives its process: if that dies, the host has to decide whether
   * the state may be resumed again.
   *
   * Contract: asked once, before anything is carried out. True lets this caller continue; false rejects with `already_resumed`.
   *
   * @see [approvals](docs/approvals.md#one-state-several-processes)
   */
  claim?: Claim
  /**
   * `true`: continues a state whose resumed run broke off: its process died, or its result could not be stored. Default false.
   *
   * Decided calls may have run then. Those of `read` and `idempotent` tools run again, with the same `idempotencyKey`. An `unsafe` one runs
   * again only if its `reconcile` says that it had no effect; else its outcome is `uncertain`, and the model is told so. What the run did
   * after these calls is not known. With a journal, which knows all this, the option has no effect. In a session, such a state rejects with
   * `already_resumed` by default.
   *
   * @see [approvals](docs/approvals.md#a-resumed-run-that-breaks-off)
   */
  again?: boolean
  /**
   * For `resumeStream` with the id of a recorded run: whether the stream begins with what the run did before (`meta.recorded`). Default
   * true.
   *
   * Responses that continue a message of their client (`originalMessages`) leave that part out.
   */
  replay?: boolean
}

/** Instructions of one run, or a function that makes them when it begins. */
type RunInstructions<Context> = string | InstructionsMaker<Context>['make']
interface InstructionsMaker<Context> {
  // A method, so that the compiler compares its parameter in both directions, as for a run's other callbacks.
  make(input: { context: Context }): string | undefined | Promise<string | undefined>
}

/** Where a nested run can be made. */
export type NestingPlace<Context = unknown> = ToolContext<Context> | HookPlace<Context>

/** Options that are not checked here are checked where they are used. */
export const runOptions: OptionChecks<RunOptions & OutputOptions> = {
  ...checksOf(runSettings),
  signal: unchecked,
  messages: unchecked,
  session: unchecked,
  context: unchecked,
  output: unchecked,
  model: unchecked,
  tools: unchecked,
  instructions: unchecked,
  runId: unchecked,
  onText: callback,
  control: expecting('a RunControl', (value) => value instanceof RunControl),
  parent: unchecked,
  recorder: unchecked,
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
