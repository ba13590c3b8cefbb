import type { MadeDecision } from '../../core/events.ts'
import type { Logger } from '../../core/logger.ts'
import type { ChatMessage, Json, JsonObject } from '../../core/messages.ts'
import type { ModelRequest, ModelResponse, Sampling } from '../../models/chat-model.ts'
import type { AnyTool, CallTrace } from '../../tools/tool.ts'
import type { RawEnd, ToolCallEnd } from '../../tools/tool-runner.ts'
import type { EventTap } from '../types/event-tap.ts'
import type { RunResult } from '../types/result.ts'

/** Measures runs, their model requests and their calls: what `telemetry()` of `toolloop/telemetry` gives. */
export interface Telemetry {
  /** Called where a run is opened, in its caller's asynchronous context. Must not throw. */
  openRun(run: MeasuredRun): RunTelemetry
  /** Stands around an HTTP request of the service. Calls `next` exactly once, and passes on what it gives or throws. */
  aroundHttpRequest(request: MeasuredHttpRequest, next: () => Promise<Response>): Promise<Response>
}

export interface MeasuredHttpRequest {
  readonly method: string
  /** The path's pattern, such as `/v1/runs/{id}`. */
  readonly route: string
  readonly path: string
  readonly headers: Pick<Headers, 'get'>
  readonly logger: Logger
}

/** A run that is opened. */
export interface MeasuredRun {
  readonly runId: string
  /** The agent's name, if it has one. */
  readonly name: string | undefined
  /** The run's `metadata`; of a nested run without its own, that of the run outside. */
  readonly metadata: JsonObject | undefined
  /** The run outside, if that is measured too, and the call this one is made in; undefined for one that a guardrail, a hook or a summary made. */
  readonly parent: { readonly telemetry: RunTelemetry; readonly toolCallId: string | undefined } | undefined
  readonly logger: Logger
}

/**
 * Stands around all that a run does. Each `next` must be called exactly once, and what it gives or throws passed on as it is: whatever else
 * goes wrong is no reason for a run to fail.
 */
export interface RunTelemetry {
  readonly tap: EventTap
  aroundExecution(execution: MeasuredExecution, next: () => Promise<RunResult>): Promise<RunResult>
  aroundRequest<Response extends ModelResponse>(request: MeasuredRequest, next: () => Promise<Response>): Promise<Response>
  aroundCall<Outcome extends MeasuredOutcome>(call: MeasuredCall, next: (trace: CallTrace) => Promise<Outcome>): Promise<Outcome>
}

/** One execution of a run: from its start, or from where its record ends. */
export interface MeasuredExecution {
  readonly provider: string
  readonly model: string
  readonly sampling: Sampling
  readonly session: string | undefined
  /** Its answer has a schema. */
  readonly isJson: boolean
  readonly instructions: string | undefined
  /** The messages it adds to the conversation. */
  readonly input: readonly ChatMessage[]
  /** Keeps what the first execution made in the run's record; gives that back to each later one, in whatever process. */
  record(make: () => Promise<Json>): Promise<Json>
}

export interface MeasuredRequest {
  readonly provider: string
  readonly model: string
  /** Where it is sent, if that is known. */
  readonly baseURL: string | undefined
  readonly api: string | undefined
  readonly request: ModelRequest
  readonly iteration: number
  /** Earlier messages are left out of it, because the conversation had become too long. */
  readonly isCompacted: boolean
  /** Tells `times` whenever a piece of the response comes; of one that is asked for anew, from its beginning. */
  timePieces(times: PieceTimes): void
  /** The names of a tool's arguments that are not to be shown. */
  secretsOf(tool: string): ReadonlySet<string>
}

/** Must not throw. */
export interface PieceTimes {
  /** A piece has come; `at`: when, by `performance.now()`. */
  note(at: number): void
  /** Those that have come count no more. */
  restart(): void
}

export interface MeasuredCall {
  readonly toolCallId: string
  readonly tool: AnyTool
  readonly args: JsonObject
  readonly iteration: number
  readonly repairs: readonly string[] | undefined
  /** What somebody has decided before it could run. */
  readonly decision: MadeDecision | undefined
}

export interface MeasuredOutcome {
  readonly end: ToolCallEnd | { readonly outcome: 'uncertain' }
  readonly raw?: RawEnd
}

/** The run outside, as the telemetry of the one inside is told of it. */
export function measuredParent(
  parent: { readonly run: { readonly telemetry: RunTelemetry | undefined }; readonly toolCallId: string | undefined } | undefined,
): MeasuredRun['parent'] {
  const telemetry = parent?.run.telemetry
  return parent === undefined || telemetry === undefined ? undefined : { telemetry, toolCallId: parent.toolCallId }
}
