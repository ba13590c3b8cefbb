import type { Logger } from '../../core/logger.ts'
import type { Json } from '../../core/messages.ts'
import type { ChatModel, ModelResponse } from '../../models/chat-model.ts'
import type { ToolSet } from '../../tools/registry.ts'
import type { Durable } from '../journal/journal.ts'
import type { TurnRequest } from '../types/model-call.ts'
import type { RunResult } from '../types/result.ts'
import type { CallOutcome, RunningCall } from '../types/running-call.ts'

/** A run, as passed to its recorder. */
export interface RecordedScope {
  readonly runId: string
  /** The call of another run that started this run. */
  readonly within: { runId: string; toolCallId: string | undefined } | undefined
  readonly agent: { readonly model: ChatModel; readonly offered: ToolSet; readonly callbacks: { around: { calls: readonly unknown[] } } }
  /** All settings of the run, including code. */
  readonly settings: object
  readonly logger: Logger
  readonly interruption: 'aborted' | 'deadline' | undefined
  interrupt(why: 'aborted' | 'deadline'): void
}

/**
 * Records the inputs and results of a run and of its nested runs, so that the run can be replayed.
 *
 * Contract of all methods: awaited. Each method must call `next` exactly once, and return its result or throw its error. A fault of the
 * recorder must not fail a run.
 */
export interface RunRecorder {
  /**
   * Wraps every execution of the run, including executions that continue it. `input`: the input as a journal would record it. `next`
   * executes the run with the given `steps`. To see each step before it is recorded, pass a wrapper of `steps`.
   */
  aroundExecution(run: RecordedScope, input: Json, steps: Durable, next: (steps: Durable) => Promise<RunResult>): Promise<RunResult>
  /** Wraps the hooks that wrap a request. A hook may answer the request itself. */
  aroundHooks<Response extends ModelResponse>(run: RecordedScope, asked: TurnRequest, next: () => Promise<Response>): Promise<Response>
  /**
   * Wraps a request as it is sent, inside hooks and guardrails. `next(model)` sends the request to `model`, which may be a wrapper.
   */
  aroundRequest<Response extends ModelResponse>(
    run: RecordedScope,
    asked: TurnRequest,
    next: (model: ChatModel) => Promise<Response>,
  ): Promise<Response>
  /** Wraps a tool's function, inside hooks and guardrails. */
  aroundCall(run: RecordedScope, call: RunningCall, next: () => Promise<CallOutcome>): Promise<CallOutcome>
}
