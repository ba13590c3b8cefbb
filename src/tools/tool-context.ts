import type { MadeDecision } from '../core/events.ts'
import type { Logger } from '../core/logger.ts'
import type { ChatMessage, FinishReason, Json, JsonObject } from '../core/messages.ts'

/** What `execute` gets besides its arguments. */
export interface ToolContext<Context = unknown> {
  /** The object given to `run(input, { context })`. Never sent to a model, never stored. */
  readonly context: Context
  /** The run's `metadata`; of a nested run without its own, that of the run outside. Frozen. Absent if there is none. */
  readonly metadata?: JsonObject
  /** Aborted when the call times out or the run ends. A tool that ignores it is abandoned. */
  readonly signal: AbortSignal
  /** Id of the call, as in the conversation. */
  readonly toolCallId: string
  readonly runId: string
  /** The model request this call came from, counted from 1. */
  readonly iteration: number
  /**
   * The same for every attempt at this call, also after a crash, and for the same call later if this one may have taken effect: give it to services that
   * deduplicate.
   */
  readonly idempotencyKey: string
  /** 1 on the first try; counts up with `retries`. */
  readonly attempt: number
  /** The answer to this tool's `ask`, when it is called again. */
  readonly answer?: Json
  /** What the tool asked (`Question.about`), when it is called again. */
  readonly asked?: Json
  /** The decision by which the call runs: its approval, or the answer to its question. Absent if nobody had to decide. */
  readonly decision?: MadeDecision
  /** The run the call belongs to: a run made inside the tool with `parent: ctx` shares its budget. Absent outside of a run. */
  readonly run?: RunScope
  /** The call's place in its run's trace. Absent in a run without telemetry. */
  readonly trace?: CallTrace
  /** The MCP client that made the call. Absent in a run. */
  readonly mcpClient?: McpClient
  /** The run's logger; redacts secrets. Each record has `runId`, `tool` and `toolCallId`. */
  readonly logger: Logger
  /** Publishes `TOOL_PROGRESS`; ignored once the attempt has ended. */
  progress(update: Json): void
  /**
   * What the call has saved, when it is made again after its process has died, or after an attempt that timed out. An `unsafe` call that can go on from it says so with `reconcile`
   * (`{ ran: false }`).
   */
  readonly saved?: Json
  /**
   * Saves a value with the call in the run's journal, such as the id of a job it has started elsewhere, in place of the one before. Resolves when it is
   * safe; rejects with `tool_cancelled` once the attempt has ended. Absent where nothing outlives the process.
   */
  save?(value: Json): Promise<void>
  /**
   * Asks the run's model: without tools, hooks and guardrails, within the run's limits and budgets. What that uses is the call's. Rejects with
   * `tool_denied` where the limits are used up, and with what the model fails with. Absent outside of a run.
   */
  askModel?(question: ModelQuestion): Promise<ModelAnswer>
  /** The time limit with which this attempt began, in milliseconds. */
  readonly timeoutMs?: number
  /**
   * Sets the time limit of this attempt anew: so many milliseconds from now, `Infinity` for none. For work that goes on elsewhere and takes as long as
   * it takes.
   */
  extendTimeout?(milliseconds: number): void
}

/** The same while it is put together. */
export type WritableContext = { -readonly [K in keyof ToolContext]: ToolContext[K] }

/** What a tool asks the model of its run. */
export interface ModelQuestion {
  instructions?: string
  messages: readonly ChatMessage[]
  maxOutputTokens?: number
  temperature?: number
  stop?: string[]
}

/** What the model answers a tool. */
export interface ModelAnswer {
  text: string
  provider: string
  model: string
  finishReason: FinishReason
}

/** Where a call is in a trace, and what is said of it there. */
export interface CallTrace {
  /** The headers with which another service goes on with the trace: `traceparent` and, where there are any, `tracestate` and `baggage`. */
  headers(): Record<string, string>
  /** Adds attributes to the call's span. */
  setAttributes(attributes: Readonly<Record<string, string | number | boolean>>): void
}

/** A run, as the tools it calls see it. */
export interface RunScope {
  readonly runId: string
  /** How many runs it is nested in: 0 for one that no tool started. */
  readonly depth: number
  /**
   * Keeps a text until the run has ended, in its journal, or in the state of a paused run without one. It replaces the one of that name, which the
   * run shares with the runs it is nested in. For what is to be known in later calls: what belongs to one call is `save`d with it.
   */
  keep(name: string, text: string): Promise<void>
  /** A text that was kept, perhaps by another process; undefined: there is none. */
  kept(name: string): Promise<string | undefined>
}

/** The MCP client that has made a call. */
export interface McpClient {
  /** What it calls itself. */
  readonly name?: string
  readonly version?: string
  /** Whether its user can be asked with `ask()`. */
  readonly asksUser: boolean
  /** Whether its model can be asked with `askClientModel()`. */
  readonly asksModel: boolean
  /** Whether it can be asked for its folders with `askClientRoots()`. */
  readonly listsRoots: boolean
}
