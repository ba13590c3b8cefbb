import type { EventBus } from '../../core/callbacks/event-bus.ts'
import { callback, type OptionChecks, textOrCallback, unchecked, withMethods } from '../../core/check-options.ts'
import type { Logger } from '../../core/logger.ts'
import type { JsonObject } from '../../core/messages.ts'
import type { FallbackOn } from '../../models/combined/fallback.ts'
import type { AnyModel } from '../../models/create-model.ts'
import type { AgentHistory } from '../conversation/agent-history.ts'
import type { Journal } from '../journal/journal.ts'
import type { OutputSchema } from '../output/output.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { AgentTools, RequiredContext, ToolsFor } from '../types/typed.ts'
import { type RunSettings, runSettings } from './run-settings.ts'
import { checksOf } from './setting-row.ts'

/** Options of an `AgentRunner`. Its settings are the defaults of its runs. */
export interface RunnerOptions<Context = unknown, Tools extends AgentTools = ToolsFor<Context>> extends RunSettings<Context> {
  /** A model, or what `createModel` accepts, such as `'openai/gpt-6.1-sol'`. Give either `model` or `models`. */
  model?: AnyModel
  /** Several models. If a model fails before it has produced output, the next model takes over. */
  models?: readonly AnyModel[]
  /**
   * The responses after which the next model of `models` is asked: `['refusal', 'content_filter']`, or a function that returns true for
   * such a response.
   *
   * Contract: not awaited. If the function throws or returns a promise, the response is kept, with a warning.
   *
   * @see [failover](docs/providers.md#failover-and-switching)
   */
  fallbackOn?: FallbackOn
  /** A list of tools, or a set such as a `ToolDispatcher`. */
  tools?: Tools
  /**
   * The system prompt, or a function that gets `{ context }` and returns it. The text is sent unchanged as the first message.
   *
   * Contract: called once, when a run starts; awaited. If it throws or rejects, so does the run. Returning nothing means no system prompt.
   */
  instructions?: string | ((input: { context: Context }) => string | undefined | Promise<string | undefined>)
  /**
   * The event bus. Default: a new bus.
   *
   * @see [the event bus](docs/streaming-and-events.md#the-event-bus)
   */
  bus?: EventBus
  /** Receives the redacted log records. Default: warnings and errors to standard error. */
  logger?: Logger
  /**
   * Records runs, so that they survive the process.
   *
   * @see [durable runs](docs/durable-runs.md)
   */
  journal?: Journal
  /**
   * Supplies the context and other options that can't be stored, for runs that continue without their caller. Called after a crash or a
   * deployment, and if `resume` gets fewer options than `run` got.
   *
   * Contract: awaited for at most `toolTimeoutMs`. If it throws, rejects, takes longer or leaves out an option of the run, the run is not
   * executed and stays unchanged. The reason is logged as an error, and `runs.get` returns it as `problem`. A `context` that is undefined
   * or null counts as left out.
   *
   * ```ts
   * new AgentRunner({ model, tools, journal, restore: async ({ metadata }) => ({ context: await openShop(metadata?.shop) }) })
   * ```
   *
   * @see [in production](docs/production.md#what-a-run-has-to-be-restored-with)
   */
  restore?(run: RunToRestore): Restored<NoInfer<Context>> | Promise<Restored<NoInfer<Context>>>
  /**
   * Keeps conversations: `memorySessions()`, `sqliteSessions({ file })`, …
   *
   * @see [sessions](docs/sessions.md)
   */
  sessions?: Sessions
  /**
   * `load` and `save` for conversations in your own tables. These functions are used instead of `sessions`.
   *
   * The `metadata` or `context` of a run has to identify the conversation. They are not called for runs with `messages` or a `session`.
   *
   * ```ts
   * const history = {
   *   load: ({ metadata }) => table.messagesOf(metadata.chat),
   *   save: ({ metadata, runId }, { newMessages }) => table.add(metadata.chat, runId, newMessages),
   * }
   * const runner = new AgentRunner({ model, tools, history })
   * await runner.run('Hello.', { metadata: { chat: 'chat-1' } })
   * ```
   *
   * @see [a table of your own](docs/chat-history.md#a-table-of-your-own)
   */
  history?: AgentHistory<NoInfer<Context>>
}

/** Options that only a runner has. Options that are not checked in this table are checked where they are used. */
export const onlyRunner: OptionChecks<Omit<RunnerOptions, keyof RunSettings>> = {
  model: unchecked,
  models: unchecked,
  fallbackOn: unchecked,
  tools: unchecked,
  instructions: textOrCallback,
  bus: withMethods('an EventBus', 'emit', 'on'),
  // Not checked, because a run continues even if its logger fails. Applications pass `false` to log nothing.
  logger: unchecked,
  journal: withMethods('a journal, such as `sqliteJournal` or `dbosJournal` gives', 'connect'),
  restore: callback,
  sessions: unchecked,
  history: unchecked,
}

export const runnerOptions: OptionChecks<RunnerOptions> = { ...checksOf(runSettings), ...onlyRunner }

/**
 * Rules of an agent (hooks, guardrails, limits and others) that apply to its turns and calls in any run. After a `handoff` to the agent,
 * the rules of the run wrap these rules. The agent's limits start counting at the handoff.
 */
export interface AgentRules<Context = unknown>
  extends Pick<
    RunSettings<Context>,
    'hooks' | 'plan' | 'around' | 'guardrails' | 'limits' | 'maxIterations' | 'activeTools' | 'stopWhen'
  > {}

/** A run that continues without its caller, as passed to `restore`. */
export interface RunToRestore {
  runId: string
  /** The `metadata` of the run. */
  metadata?: JsonObject
  /** The id of the run's session. */
  session?: string
}

/** Options of a run that can't be stored. */
interface OwnOptions<Context>
  extends Pick<
    RunSettings<Context>,
    'hooks' | 'plan' | 'around' | 'guardrails' | 'approve' | 'budget' | 'stopWhen' | 'compaction' | 'toolCalling' | 'telemetry'
  > {
  context?: Context
  tools?: ToolsFor<Context>
  model?: AnyModel
  output?: OutputSchema
}

/** The name of an option that is not stored with a run. */
export type RestoredName = keyof OwnOptions<unknown>

/**
 * The return value of `restore`. It must contain every option of this type that the run was started with. Other options of this type are
 * ignored. It can't contain the options `signal`, `control`, `onText` and `recorder`, which belong to the caller.
 */
export type Restored<Context = unknown> = OwnOptions<Context> & RequiredContext<Context>
