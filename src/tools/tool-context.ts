import type { MadeDecision } from '../core/events.ts'
import type { Logger } from '../core/logger.ts'
import type { ChatMessage, FinishReason, Json, JsonObject } from '../core/messages.ts'

/** The second argument of `execute`. */
export interface ToolContext<Context = unknown> {
  /** The object given to `run(input, { context })`. Never sent to a model, never stored. */
  readonly context: Context
  /** The run's `metadata`, frozen. A nested run without its own has that of the outer run. Absent if there is none. */
  readonly metadata?: JsonObject
  /** Aborted when the call times out or the run ends. A tool that ignores it is abandoned. */
  readonly signal: AbortSignal
  /** Id of the call, as in the conversation. */
  readonly toolCallId: string
  readonly runId: string
  /** The number of the model request that made this call, from 1. */
  readonly iteration: number
  /**
   * All attempts at this call share this key, even after a crash. So does a later repetition, if this call may have taken effect. Pass
   * it to services that deduplicate requests.
   */
  readonly idempotencyKey: string
  /** The number of the attempt, from 1; see `Tool.retries`. */
  readonly attempt: number
  /** The answer to this tool's `ask()` when the tool is called again. */
  readonly answer?: Json
  /** The question (`Question.about`) when the tool is called again. */
  readonly asked?: Json
  /** The decision that allowed the call: its approval, or the answer to its question. Absent if no decision was needed. */
  readonly decision?: MadeDecision
  /** The run of this call. A run started inside the tool with `parent: ctx` shares its budget. Absent outside of a run. */
  readonly run?: RunScope
  /** The position of the call in the run's trace. Absent if the run has no telemetry. */
  readonly trace?: CallTrace
  /** The MCP client that made the call. Absent in a run. */
  readonly mcpClient?: McpClient
  /** The run's logger, which redacts secrets. Each record has `runId`, `tool` and `toolCallId`. */
  readonly logger: Logger
  /** Publishes `TOOL_PROGRESS`. Ignored after the attempt has ended. */
  progress(update: Json): void
  /**
   * The value that this call saved before its process died or an earlier attempt timed out. If an `unsafe` tool can continue from it, its
   * `reconcile` returns `{ ran: false }`.
   */
  readonly saved?: Json
  /**
   * Saves a value with the call in the run's journal, for example the id of a job started elsewhere. Replaces the previous value. Resolves
   * when it is durable; rejects with `tool_cancelled` after the attempt has ended. Absent if the journal does not outlive the process.
   */
  save?(value: Json): Promise<void>
  /**
   * Asks the run's model a question, without tools, hooks or guardrails, within the run's limits and budgets. Its usage counts as usage of
   * the call. Rejects with `tool_denied` if a limit is reached, and with the model's error if the request fails. Absent outside of a run.
   */
  askModel?(question: ModelQuestion): Promise<ModelAnswer>
  /** The time limit of this attempt when it began, in milliseconds. */
  readonly timeoutMs?: number
  /**
   * Resets the time limit of this attempt to the given number of milliseconds from now; `Infinity` removes it. Use it for work that runs
   * elsewhere and takes as long as it takes.
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

/** A run as seen by the tools it calls. */
export interface RunScope {
  readonly runId: string
  /** Nesting depth: 0 for a run that no tool started. */
  readonly depth: number
  /**
   * Stores a text under a name until the run ends: in the run's journal, or in the state of a paused run without one. Replaces the previous
   * text of that name. A run shares these texts with the runs it is nested in. Use it for what later calls need; use `save` for what
   * belongs to one call.
   */
  keep(name: string, text: string): Promise<void>
  /** A stored text, possibly stored by another process; undefined if there is none. */
  kept(name: string): Promise<string | undefined>
}

/** The MCP client that made a call. */
export interface McpClient {
  /** The name the client gives itself. */
  readonly name?: string
  readonly version?: string
  /** Whether `ask()` can ask its user. */
  readonly asksUser: boolean
  /** Whether `askClientModel()` can ask its model. */
  readonly asksModel: boolean
  /** Whether `askClientRoots()` can ask for its folders. */
  readonly listsRoots: boolean
}
