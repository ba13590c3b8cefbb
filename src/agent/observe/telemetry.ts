import type { MadeDecision } from '../../core/events.ts'
import type { Logger } from '../../core/logger.ts'
import type { ChatMessage, Json, JsonObject } from '../../core/messages.ts'
import type { ModelRequest, ModelResponse, Sampling } from '../../models/chat-model.ts'
import type { AnyTool, CallTrace } from '../../tools/tool.ts'
import type { RawEnd, ToolCallEnd } from '../../tools/tool-runner.ts'
import { leavesOut } from '../conversation/compaction.ts'
import type { EventTap } from '../types/event-tap.ts'
import type { AroundModel, PieceTimes } from '../types/model-call.ts'
import type { RunResult } from '../types/result.ts'
import type { AroundTool } from '../types/running-call.ts'

/** Measures runs, their model requests and their calls. `telemetry()` of `toolloop/telemetry` returns such an object. */
export interface Telemetry {
  /**
   * Called when a run starts, in its caller's asynchronous context.
   *
   * Contract: not awaited. Must not throw.
   */
  openRun(run: MeasuredRun): RunTelemetry
  /**
   * Wraps an HTTP request of the service.
   *
   * Contract: awaited. It must call `next` exactly once, and return its result or throw its error.
   */
  aroundHttpRequest<Answer extends { readonly status: number }>(request: MeasuredHttpRequest, next: () => Promise<Answer>): Promise<Answer>
}

export interface MeasuredHttpRequest {
  readonly method: string
  /** The path's pattern, such as `/v1/runs/{id}`. */
  readonly route: string
  readonly path: string
  readonly headers: Pick<Headers, 'get'>
  readonly logger: Logger
}

/** A run that is being opened. */
export interface MeasuredRun {
  readonly runId: string
  /** The agent's name, if it has one. */
  readonly name: string | undefined
  /** The run's `metadata`. A nested run without `metadata` inherits that of the outer run. */
  readonly metadata: JsonObject | undefined
  /**
   * The outer run, if it is measured too, and the call that started this run. `toolCallId` is undefined for a run started by a guardrail, a
   * hook or a summary.
   */
  readonly parent: { readonly telemetry: RunTelemetry; readonly toolCallId: string | undefined } | undefined
  readonly logger: Logger
}

/**
 * Wraps the parts of a run.
 *
 * Contract of all methods: awaited. Each method must call `next` exactly once, and return its result or throw its error. A fault of the
 * telemetry must not fail a run.
 */
export interface RunTelemetry {
  readonly tap: EventTap
  aroundExecution(execution: MeasuredExecution, next: () => Promise<RunResult>): Promise<RunResult>
  aroundRequest<Response extends ModelResponse>(request: MeasuredRequest, next: () => Promise<Response>): Promise<Response>
  aroundCall<Outcome extends MeasuredOutcome>(call: MeasuredCall, next: (trace: CallTrace) => Promise<Outcome>): Promise<Outcome>
}

/** One execution of a run, which starts at the beginning of the run or at the end of its record. */
export interface MeasuredExecution {
  readonly provider: string
  readonly model: string
  readonly sampling: Sampling
  readonly session: string | undefined
  /** Whether the answer has a schema. */
  readonly isJson: boolean
  readonly instructions: string | undefined
  /** The messages that the run adds to the conversation. */
  readonly input: readonly ChatMessage[]
  /** Records the return value of `make` in the first execution. Every later execution, in any process, gets the recorded value. */
  record(make: () => Promise<Json>): Promise<Json>
}

export interface MeasuredRequest {
  readonly provider: string
  readonly model: string
  /** The address that the request is sent to, if known. */
  readonly baseURL: string | undefined
  readonly api: string | undefined
  readonly request: ModelRequest
  readonly iteration: number
  /** Whether earlier messages are left out because the conversation was too long. */
  readonly isCompacted: boolean
  /** Records in `times` when each piece of the response arrives. If the request is sent again, discards the earlier pieces. */
  timePieces(times: PieceTimes): void
  /** The names of a tool's arguments that must not be shown. */
  secretsOf(tool: string): ReadonlySet<string>
}

export interface MeasuredCall {
  readonly toolCallId: string
  readonly tool: AnyTool
  readonly args: JsonObject
  readonly iteration: number
  readonly repairs: readonly string[] | undefined
  /** The decision on the call, if the call needed one. */
  readonly decision: MadeDecision | undefined
}

export interface MeasuredOutcome {
  readonly end: ToolCallEnd | { readonly outcome: 'uncertain' }
  readonly raw?: RawEnd
}

export function measuredParent(
  parent: { readonly run: { readonly telemetry: RunTelemetry | undefined }; readonly toolCallId: string | undefined } | undefined,
): MeasuredRun['parent'] {
  const telemetry = parent?.run.telemetry
  return parent === undefined || telemetry === undefined ? undefined : { telemetry, toolCallId: parent.toolCallId }
}

export function measureRequest(telemetry: RunTelemetry, { settings }: { settings: { compaction?: unknown } }): AroundModel {
  return (next) => (call) => {
    const { model, tools, request, iteration } = call
    const secretsOf = (name: string) => new Set(tools.get(name)?.secrets)
    const isCompacted = settings.compaction !== undefined && leavesOut(request.messages)
    const { provider, model: name, baseURL, api } = model
    const timePieces = (times: PieceTimes) => call.turn.timePieces(times)
    const measured = { provider, model: name, baseURL, api, request, iteration, isCompacted, timePieces, secretsOf }
    return telemetry.aroundRequest(measured, () => next(call))
  }
}

export function measureCall(telemetry: RunTelemetry): AroundTool {
  return (next) => (running) => {
    const { iteration, call, prepared } = running
    const { tool, args } = prepared
    const measured = { toolCallId: call.id, tool, args, iteration, repairs: call.repairs, decision: call.decision }
    return telemetry.aroundCall(measured, (trace) => next({ ...running, trace }))
  }
}
