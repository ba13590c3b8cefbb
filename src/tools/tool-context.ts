import type { MadeDecision } from '../core/events.ts'
import type { Logger } from '../core/logger.ts'
import type { ChatMessage, FinishReason, Json, JsonObject } from '../core/messages.ts'

/** The second argument of `execute`. */
export interface ToolContext<Context = unknown> {
  /** The object given to `run(input, { context })`. It is never sent to a model and never stored. */
  readonly context: Context
  /**
   * The run's `metadata`, frozen. A nested run without its own metadata inherits the metadata of the outer run. Absent if neither run has
   * metadata.
   */
  readonly metadata?: JsonObject
  /** Aborted when the call times out or the run ends. A tool that ignores the signal is abandoned. */
  readonly signal: AbortSignal
  /** The id of the call, as in the conversation. */
  readonly toolCallId: string
  readonly runId: string
  /** The number of the model request that made this call, from 1. */
  readonly iteration: number
  /**
   * A key that is the same for all attempts at this call, even after a crash. The key stays the same if the model repeats a call that may
   * have taken effect. Pass the key to services that deduplicate requests.
   */
  readonly idempotencyKey: string
  /** The number of the attempt, from 1; see `Tool.retries`. */
  readonly attempt: number
  /** The answer to the question that this tool asked with `ask()`. Set when the tool is called again with the answer. */
  readonly answer?: Json
  /** The question that the tool asked (`Question.about`). Set when the tool is called again with the answer. */
  readonly asked?: Json
  /** The decision that allowed the call: its approval, or the answer to its question. Absent if no decision was needed. */
  readonly decision?: MadeDecision
  /** The run of this call. A run started inside the tool with `parent: ctx` shares the budget of this run. Absent outside of a run. */
  readonly run?: RunScope
  /** The position of the call in the run's trace. Absent if the run has no telemetry. */
  readonly trace?: CallTrace
  /** The MCP client that made the call. Absent in a run. */
  readonly mcpClient?: McpClient
  /** The run's logger, which redacts secrets. Each record has `runId`, `tool` and `toolCallId`. */
  readonly logger: Logger
  /** Publishes `TOOL_PROGRESS`. Has no effect after the attempt has ended. */
  progress(update: Json): void
  /**
   * The value that this call last stored with `save`, before its process died or an earlier attempt timed out. If an `unsafe` tool can
   * continue from this value, its `reconcile` should return `{ ran: false }`.
   */
  readonly saved?: Json
  /**
   * Saves a value with the call in the run's journal, for example the id of a job started elsewhere. Replaces the previous value. Resolves
   * when the value is durable. Rejects with `tool_cancelled` after the attempt has ended. Absent if the journal does not outlive the
   * process.
   */
  save?(value: Json): Promise<void>
  /**
   * Asks the run's model a question, without tools, hooks or guardrails, within the run's limits and budgets. Its usage counts as usage of
   * the call. Rejects with `tool_denied` if a limit is reached, and with the model's error if the request fails. Absent outside of a run.
   */
  askModel?(question: ModelQuestion): Promise<ModelAnswer>
  /** The initial time limit of this attempt, in milliseconds. */
  readonly timeoutMs?: number
  /**
   * Sets the time limit of this attempt to the given number of milliseconds from now. `Infinity` removes the limit. Use this method for
   * work of unknown duration that runs elsewhere.
   */
  extendTimeout?(milliseconds: number): void
}

/** `ToolContext` while it is being built. */
export type WritableContext = { -readonly [K in keyof ToolContext]: ToolContext[K] }

/** A question that a tool asks the model of its run. */
export interface ModelQuestion {
  instructions?: string
  messages: readonly ChatMessage[]
  maxOutputTokens?: number
  temperature?: number
  stop?: string[]
}

/** The model's answer to a tool. */
export interface ModelAnswer {
  text: string
  provider: string
  model: string
  finishReason: FinishReason
}

/** The position of a call in a trace. */
export interface CallTrace {
  /** Headers that let another service continue the trace: `traceparent` and, if set, `tracestate` and `baggage`. */
  headers(): Record<string, string>
  /** Adds attributes to the call's span. */
  setAttributes(attributes: Readonly<Record<string, string | number | boolean>>): void
}

/** A run, as its tools see it. */
export interface RunScope {
  readonly runId: string
  /** The nesting depth: 0 for a run that no tool has started. */
  readonly depth: number
  /**
   * Stores a text under a name until the run ends. The text is kept in the run's journal or, if the run has no journal, in the state of the
   * paused run. Replaces the previous text with that name. Nested runs share these texts with their outer runs. Use `keep` for data that
   * later calls need, and `save` for data of a single call.
   */
  keep(name: string, text: string): Promise<void>
  /** Returns the text that was stored under a name, possibly by another process. Undefined if no text was stored. */
  kept(name: string): Promise<string | undefined>
}

/** The MCP client that made a call. */
export interface McpClient {
  /** The name that the client reports. */
  readonly name?: string
  readonly version?: string
  /** Whether `ask()` can ask the client's user. */
  readonly asksUser: boolean
  /** Whether `askClientModel()` can ask the client's model. */
  readonly asksModel: boolean
  /** Whether `askClientRoots()` can ask for the client's folders. */
  readonly listsRoots: boolean
}
