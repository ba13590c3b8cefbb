import type { EventBus } from '../core/callbacks/event-bus.ts'
import type { Logger } from '../core/logger.ts'
import type { MessageInput } from '../core/message-input.ts'
import type { ChatMessage, JsonObject } from '../core/messages.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { Sampling, ToolChoice } from '../models/chat-model.ts'
import type { AnyModel } from '../models/create-model.ts'
import type { FallbackOn } from '../models/middleware/fallback.ts'
import type { ToolContext } from '../tools/tool.ts'
import type { AgentHistory } from './conversation/agent-history.ts'
import type { Decision, Signature } from './decisions/decisions.ts'
import type { Claim } from './decisions/resume-claim.ts'
import type { Journal } from './durable/journal.ts'
import type { Guardrail } from './hooks/guardrails.ts'
import type { HookPlace, Hooks } from './hooks/hooks.ts'
import type { LargeResultOptions } from './large-results/types.ts'
import type { Budget } from './limits/budget.ts'
import type { RunLimits } from './limits/types.ts'
import type { RunRecorder } from './observe/recorder.ts'
import type { Telemetry } from './observe/telemetry.ts'
import type { OutputSchema } from './output/output.ts'
import type { RunStep } from './run/result.ts'
import type { RunControl } from './run/run-control.ts'
import type { SessionOptions } from './sessions/session-options.ts'
import type { Sessions } from './sessions/sessions.ts'
import type { AgentTools, RequiredContext, ToolsFor } from './typed.ts'
import type { AroundEntry, PlanEntry } from './types/middleware.ts'

export type { RunInput } from './conversation/run-input.ts'
export type { LargeResultOptions } from './large-results/types.ts'
export type { RunLimits } from './limits/types.ts'
export type { PendingItem, RunResult, RunState, RunStep, ToolCallOutcome, ToolCallRecord } from './run/result.ts'

/** A call that needs an approval, as `approve` is asked about it. */
export interface ApprovalRequest<Context = unknown> {
  toolCallId: string
  tool: string
  args: JsonObject
  runId: string
  context: Context
  /** The run's `metadata`; of a nested run without its own, that of the run outside. Frozen. */
  metadata?: JsonObject
  signal: AbortSignal
}
/**
 * What `approve` decides: the same as a decision given to `resume`. The reason is told to the model. With `args`, the approved call runs with those
 * arguments, and the model is told so. With `remember`, the same call needs no approval any more in this run. `by` and `note` are kept with the call.
 * A decision that can't be carried out, because the arguments don't fit the tool or there is anything else in it, refuses the call.
 */
export type ApprovalDecision = boolean | ({ approved: boolean; reason?: string; args?: JsonObject; remember?: boolean } & Signature)

/**
 * What is sent of a long conversation: old results are shortened, then the oldest rounds left out, calls and results whole; system messages
 * and the task stay. Done when it is estimated to be too long, and when the provider says so.
 */
export interface CompactionOptions {
  /** Most tokens of conversation that are sent. Default: three quarters of the model's context window; where that is not known, no limit. */
  maxTokens?: number
  /** Tokens of a message, at once. If it fails, that is logged and the message counts by its length. Default: by its length, see `estimateTokens`. */
  estimate?(message: ChatMessage): number
  /** What is to be said in place of messages that are left out. One that throws is logged, and nothing is said. */
  summarise?(messages: readonly ChatMessage[], place: HookPlace): string | Promise<string>
}

/**
 * `'native'`: by the provider's own means. `'tags'`: as text, in `<tool_action>` tags. `'json'`, the name of another dialect of
 * `toolloop/dialects`, or a dialect of your own: as text in that form. `'auto'`: natively where the model has native calls, and listening
 * for tags beside them; else as the model's settings say (`dialect`), or in tags.
 *
 * As text, the request has no tools: the system prompt tells of them, and calls and results of the past are written into the messages.
 */
export type ToolCalling = 'auto' | 'native' | 'tags' | 'json' | (string & {}) | Dialect

/** The options of the loop, by another name. */
export type ReActOptions<Context = unknown> = RunSettings<Context>

/** What a run can be given, and a runner for all its runs; the run's value wins. */
export interface RunSettings<Context = unknown> extends Sampling {
  /** Model requests a run may make, each with its tools. An integer ≥ 1. Default 5. */
  maxIterations?: number
  /** The same as `maxIterations`, under its older name. */
  maxToolRounds?: number
  /** Time limit of one tool attempt in milliseconds; a tool's own `timeoutMs` wins. Default 30 000. */
  toolTimeoutMs?: number
  /** Tools of one turn that run at once. Default 8; 1 for calls that were written as text. */
  toolConcurrency?: number
  /**
   * Most bytes of text the model gets from one result; the middle of a longer one is cut, and the note that says so counts. Pictures and documents of a result may have 320
   * times as many together (base64), and a result 256 parts. Default 65 536.
   */
  maxResultBytes?: number
  /**
   * What happens to the rest of a result that is too long. True, or options: it is kept, and the model, shown the beginning, reads more of it
   * with the tool `read_result`, which is then among the tools of every request. Hooks and guardrails see the whole result. Default false: it
   * is cut.
   */
  largeResults?: boolean | LargeResultOptions
  /**
   * Maximum number of values in the arguments of one call. A call with more is refused, and the model is told to make several. Default: no
   * limit; in the service 10,000.
   */
  maxArgumentValues?: number
  /** Longest silence in a model's stream, in milliseconds. Default 60 000. */
  streamIdleTimeoutMs?: number
  /** Longest time without an event in a model's stream, in milliseconds: comments and pings are none. Default 600 000. */
  streamStallTimeoutMs?: number
  /** At the iteration limit: `'stop'`, or `'answer'`: one more request, without tools, so that there is an answer. Default `'stop'`. */
  onLimit?: 'stop' | 'answer'
  /**
   * What happens if the answer is cut off at a token limit. `'stop'`: the run ends with `truncated`. `'continue'`: the model is asked to
   * continue, at most 3 times for one answer, and the parts are joined to one message; each request counts as an iteration. Default `'stop'`.
   */
  onTruncated?: 'stop' | 'continue'
  /**
   * What to do if a response breaks off after a part of it was shown. `'restart'`: request it again, whoever watches; its text comes again from
   * the start. `'end'`: end the run with `model_error`. Default: request it again if everybody who watches can take that part back. Events and
   * pages can (see `MODEL_RETRY`); if text has reached `.text`, `onText` or a format that takes nothing back, the run ends.
   */
  onCut?: 'end' | 'restart'
  /** How tools reach the model, and its calls come back. Default `'auto'`. */
  toolCalling?: ToolCalling
  /**
   * Whether what a model writes as text is searched for calls. True: where calls are written as text, and, with `toolCalling: 'auto'`, for
   * `<tool_action>` tags beside native calls, which count where a response has no native call. False: text passes as it is in every mode
   * and dialect, and nothing in it runs. Default true.
   */
  enableToolActionParsing?: boolean
  /** What a call written in a code fence, or quoted in backticks, is. Default `'text'`. */
  fencedTags?: 'text' | 'run'
  /** Sent with every request. With `'required'`, or a tool by name, only a `final` tool or a bound ends the run. */
  toolChoice?: ToolChoice
  parallelToolCalls?: boolean
  limits?: RunLimits
  /** What this run and others may use up together. Runs inside its calls draw on it too. Not stored: to be given anew to `resume`. */
  budget?: Budget
  /**
   * Where `budget` does not allow a request: `'stop'` ends the run with `budget`; `'pause'` pauses it, as for an approval, with an item of kind
   * `budget`. When you have raised the budget, approve the item and resume the run. Default `'stop'`.
   */
  onBudget?: 'stop' | 'pause'
  /** Keeps a conversation that grows long within the model's context window; the result has it whole. Default: not done. */
  compaction?: CompactionOptions
  /** False: asks the provider for whole responses instead of streams. Default true. */
  stream?: boolean
  /**
   * Requests with the same key and the same beginning are sent where the provider has cached that: OpenAI's `prompt_cache_key`, sent to
   * OpenAI's own address, and where the quirk `promptCacheKey` is true. False: none. Default: made of the session's id, in a session.
   */
  cacheKey?: string | false
  /** Put into the provider's request body as they are. */
  providerOptions?: JsonObject
  /** Ends the run with `stopped` when it returns true after a step; must not throw. */
  stopWhen?(state: { iteration: number; steps: readonly RunStep[]; messages: readonly ChatMessage[] }): boolean
  /** How long a run waits for a decision on a pending call, in milliseconds; then the call is refused. Default: for ever. */
  decisionTimeoutMs?: number
  /** Approvals given earlier with `remember`, from a result's `remembered`: the same calls need none. */
  remembered?: readonly string[]
  /** Take part in the loop, in their order. */
  hooks?: readonly Hooks<Context>[]
  /** Decide what a run does before it is done: see `PlanEntry`. Default: none. */
  plan?: readonly PlanEntry<Context>[]
  /** Wrap model requests and tool functions: see `AroundEntry`. Default: none. */
  around?: readonly AroundEntry<Context>[]
  /**
   * Whose run it is, or what for: JSON of at most 16,384 characters. Tools, hooks, guardrails and approvals read it, and it is in the `meta` of
   * each event. Kept with the run when it pauses or is recorded; not sent to a model. A nested run without its own has that of the run outside.
   */
  metadata?: JsonObject
  /** Checks of what goes in and out, in their order. */
  guardrails?: readonly Guardrail<Context>[]
  /** Names of the tools that are sent; the others can't be called. Default: all. */
  activeTools?: readonly string[]
  /** How often an answer that is not accepted may be given anew: one that does not fit `output`, or that a guardrail withheld. Default 2. */
  outputRetries?: number
  /**
   * True: a run that ends with an error rejects with a `RunError`, which has the `result`. That is every result with an `error`: of stop
   * reason `model_error`, `refused` or `aborted`, and one whose last answer at a limit failed. A limit that is reached (`deadline`,
   * `budget`, `max_iterations`, `repeated_calls`), `stopped` and `paused` are no errors. Default false.
   */
  throwOnError?: boolean
  /**
   * Decides calls of tools that need approval while the run waits. Without it such a run ends `paused`; what is pending then is decided by
   * `decisions` alone, also where `resume` is given an `approve`. Throwing means refused.
   */
  approve?(request: ApprovalRequest<Context>): ApprovalDecision | Promise<ApprovalDecision>
  /** What the agent is called in telemetry. Default: none; inside a call of another agent, the name of the tool called. */
  name?: string
  /** Traces and metrics of the run: what `telemetry()` of `toolloop/telemetry` gives. Runs inside its calls are measured by it too. Default: none. */
  telemetry?: Telemetry
}

/**
 * What stands around the turns and calls of an agent, whoever asks it. After a `handoff` it holds inside what the run was started with, and its
 * limits count from there.
 */
export interface AgentRules<Context = unknown>
  extends Pick<
    RunSettings<Context>,
    'hooks' | 'plan' | 'around' | 'guardrails' | 'limits' | 'maxIterations' | 'activeTools' | 'stopWhen'
  > {}

/** What an `AgentRunner` is made of; settings are the defaults of its runs. */
export interface RunnerOptions<Context = unknown, Tools extends AgentTools = ToolsFor<Context>> extends RunSettings<Context> {
  /** A model, or what `createModel` takes: `'openai/gpt-5.2'` or settings. Either this or `models`. */
  model?: AnyModel
  /** Several models: each turn asks the first, and when it fails before it has said anything, the next (see `fallbackModel`). */
  models?: readonly AnyModel[]
  /** Responses of `models` after which the next one is asked, too, such as `['refusal', 'content_filter']`. Default: none. */
  fallbackOn?: FallbackOn
  tools?: Tools
  /** The system prompt, sent as the first message as it is. */
  instructions?: string | ((input: { context: Context }) => string | undefined | Promise<string | undefined>)
  /** Where events go. Default: a bus of the runner's own. */
  bus?: EventBus
  logger?: Logger
  /** Where runs are recorded, so that they survive the process. Default: nowhere. */
  journal?: Journal
  /**
   * Supplies what a run was started with and what can't be stored (its context, budget, tools, …), when the run continues without its caller: after a
   * crash or a deploy, and when `resume` is given less than `run` was. Awaited for as long as an attempt at a tool may take. If it throws,
   * rejects, takes longer or leaves out something that the run was started with, nothing of the run is executed: it stays where it is,
   * `problem` of `runs.get` says why, and an error is logged. A `context` that is undefined or null counts as left out.
   *
   * ```ts
   * new AgentRunner({ model, tools, journal, restore: async ({ metadata }) => ({ context: await openShop(metadata?.shop) }) })
   * ```
   */
  restore?(run: RunToRestore): Restored<NoInfer<Context>> | Promise<Restored<NoInfer<Context>>>
  /** Where conversations are kept: `memorySessions()`, `sqliteSessions({ file })`, … Default: nowhere. */
  sessions?: Sessions
  /**
   * How conversations are loaded from and saved to tables of your own, in place of `sessions`. A run's `metadata` or `context` says which one is
   * meant. Runs that are given `messages` or a `session` have nothing to do with it.
   *
   * ```ts
   * const history = {
   *   load: ({ metadata }) => table.messagesOf(metadata.chat),
   *   save: ({ metadata, runId }, { newMessages }) => table.add(metadata.chat, runId, newMessages),
   * }
   * const runner = new AgentRunner({ model, tools, history })
   * await runner.run('Hello.', { metadata: { chat: 'chat-1' } })
   * ```
   */
  history?: AgentHistory<NoInfer<Context>>
}

/** A run that continues without its caller, as `restore` is asked about it. */
export interface RunToRestore {
  runId: string
  /** As the run was started with. */
  metadata?: JsonObject
  /** The id of its session. */
  session?: string
}

/** What can be given to one run and can't be stored. */
interface OwnOptions<Context> extends Pick<RunSettings<Context>, OwnSettings> {
  context?: Context
  tools?: ToolsFor<Context>
  model?: AnyModel
  output?: OutputSchema
}
type OwnSettings =
  | 'hooks'
  | 'plan'
  | 'around'
  | 'guardrails'
  | 'approve'
  | 'budget'
  | 'stopWhen'
  | 'compaction'
  | 'toolCalling'
  | 'telemetry'

/** The name of an option that is not stored with a run. */
export type RestoredName = keyof OwnOptions<unknown>

/**
 * What `restore` supplies: of these, at least what the run was started with. What the run was not started with is not used. Not among them is
 * what belongs to the caller: `signal`, `control`, `onText`, `recorder`.
 */
export type Restored<Context = unknown> = OwnOptions<Context> & RequiredContext<Context>

/** Instructions of one run, or what makes them when it begins. */
type RunInstructions<Context> = string | InstructionsMaker<Context>['make']
interface InstructionsMaker<Context> {
  // A method: the compiler lets its parameter differ either way, as it does for a run's other callbacks.
  make(input: { context: Context }): string | undefined | Promise<string | undefined>
}

/** Where a nested run can be made. */
export type NestingPlace<Context = unknown> = ToolContext<Context> | HookPlace<Context>

/** What one run can be given: every setting of a runner, and what belongs to this run alone. */
export interface RunOptions<Context = unknown, Tools extends AgentTools = ToolsFor<Context>> extends RunSettings<Context> {
  signal?: AbortSignal
  /** The conversation so far, such as an earlier result's `messages`. Not changed. */
  messages?: readonly MessageInput[]
  /**
   * The conversation that the run continues, by its id in the runner's `sessions`; made if it is not there. What the run adds is stored when
   * it ends, in one step. With options: `{ id, onBusy: 'refuse' }`.
   */
  session?: string | SessionOptions
  /**
   * Handed to tools, hooks, approvals and instructions; never sent to a model, never stored: see `restore`. To be given if the agent has a type
   * of context.
   */
  context?: Context
  /** Replaces the runner's model for this run. */
  model?: AnyModel
  /** Replaces the runner's tools for this run. */
  tools?: Tools
  /** Replaces the runner's instructions for this run. */
  instructions?: RunInstructions<Context>
  /** Default: made at random. */
  runId?: string
  /** The visible text, piece by piece, as it arrives. Not awaited. One that throws or rejects is logged once, and the run goes on. */
  onText?(delta: string): void
  /** Steers the run while it goes on. */
  control?: RunControl
  /**
   * Where this run is made: what a tool call, a hook, a guardrail or `summarise` of another run was given. That run's signal, limits and budget
   * are this one's too, events name it, and its context, `approve` and telemetry are the defaults. A nested run is kept in memory only, or with the
   * call it is made in.
   */
  parent?: NestingPlace<Context>
  /** Notes what the run, and every run inside it, is given and what comes of it; `recordRun` of `toolloop/recording` gives one. */
  recorder?: RunRecorder
  /** Whether the stream of the run outside has this run's events as well; they have `meta.parentRunId`. Default false. */
  forwardEvents?: boolean
}

/** Of a run, or one that is resumed, whose answer has a schema. */
export interface OutputOptions<S extends OutputSchema = OutputSchema> {
  /**
   * The answer's schema: `result.output` is then what it makes of the answer. Asked for by the provider's own means where it has them beside
   * tools, else through a tool that gives the answer. An answer that does not fit is sent back, see `outputRetries`; then the run ends
   * `model_error` with code `invalid_output`. With an answer of a `final` tool of yours, which ends the run `stopped`, there is no such
   * output. Not stored: to be given again to `resume`.
   */
  output: S
}

/** What a paused run goes on with; what is not given stays as it was. */
export interface ResumeOptions<Context = unknown, Tools extends AgentTools = ToolsFor<Context>>
  extends Omit<RunOptions<Context, Tools>, 'messages' | 'runId' | 'session' | 'instructions'> {
  /** On pending items, in any order: `{ ...item, approved: true }`. What is not decided stays pending. */
  decisions?: readonly Decision[]
  /**
   * Asked once before anything is carried out: true lets this caller go on, false rejects with `already_resumed`. To be given where several
   * processes may resume one state: an `INSERT … ON CONFLICT DO NOTHING` of `key`, say. Within one process no state is ever resumed twice at
   * once. A claim outlives its process: where that dies, the host has to decide whether the state may be resumed again.
   */
  claim?: Claim
  /**
   * True: the state was resumed before, and that came to no end: its process died, or what it came to could not be stored. Calls that are
   * decided may have run then. Those of `read` and `idempotent` tools run again, with the same `idempotencyKey`; an `unsafe` one only where
   * its `reconcile` says that it had no effect, else its outcome is `uncertain`, and the model is told so. What the run did after these calls
   * is not known. Of no meaning under a journal, which knows. Default false: in a session, such a state rejects with `already_resumed`.
   */
  again?: boolean
  /**
   * For `resumeStream` with the id of a recorded run: whether it begins with what the run did before (`meta.recorded`). Default true. Responses that continue
   * a message of their client (`originalMessages`) leave that out.
   */
  replay?: boolean
}
