import { callUnawaited, syncAnswer } from '../../core/callbacks/callbacks.ts'
import { type ErrorCode, messageOf } from '../../core/errors.ts'
import type { Logger } from '../../core/logger.ts'
import type { Content, Json, JsonObject } from '../../core/messages.ts'
import type { Question } from '../question.ts'
import type { ModelAnswer, ModelQuestion, ToolContext, WritableContext } from '../tool-context.ts'

/** The data and callbacks that a run provides for a call. */
export interface ToolCallEnvironment
  extends Pick<WritableContext, 'metadata' | 'answer' | 'asked' | 'decision' | 'run' | 'trace' | 'saved' | 'save' | 'mcpClient'> {
  context: unknown
  /** Aborted when the run ends. The call is then abandoned at once. */
  signal: AbortSignal
  /**
   * Calls `over` when `signal` is aborted. Returns a function that unsubscribes. If missing, a slower event listener on `signal` is used.
   */
  whenOver?(over: () => void): () => void
  toolCallId: string
  runId: string
  iteration: number
  idempotencyKey: string
  askModel?(question: ModelQuestion, ctx: ToolContext): Promise<ModelAnswer>
  /** Reads the value that the call last saved. */
  readSaved?(): Promise<Json | undefined>
  /** Set if the call has been approved. Otherwise, a tool that requires approval is refused. */
  approved?: boolean
  /** The run's time limit for one attempt, in milliseconds. The tool's own limit takes precedence. */
  timeoutMs: number
  maxResultBytes: number
  maxArgumentValues?: number
  logger: Logger
  /** The logger that the tool receives. Default: `logger`. */
  toolLogger?: Logger
  /** If set, the value that the tool's function returned or threw is stored in this object. */
  raw?: RawEnd
  /** Called immediately before the tool's function. Must not throw. */
  onStart?(args: JsonObject): void
  onProgress?(update: Json): void
}

/** The value that the tool's function returned or threw in the last attempt. */
export interface RawEnd {
  value?: unknown
  thrown?: unknown
}

/** How a call ended. Running a call never throws. */
export type ToolCallEnd = ExecutedEnd | { outcome: 'rejected'; content: string; code: ErrorCode; args?: JsonObject }

/** How a call ended, if its tool's function ran. */
export type ExecutedEnd =
  | { outcome: 'ok'; content: Content; value: unknown; attempts: number }
  | {
      outcome: 'failed' | 'timeout' | 'cancelled'
      content: string
      code: ErrorCode
      attempts: number
      /** `possible`: the call may have taken effect, or may still take effect. `known`: `reconcile` says that the call has taken effect. */
      effect?: 'possible' | 'known'
    }
  | { outcome: 'question'; question: Question; attempts: number }

/** Calls `listener` when `signal` is aborted. Returns a function that unsubscribes. */
export function listen(signal: AbortSignal, listener: () => void): () => void {
  signal.addEventListener('abort', listener, { once: true })
  return () => signal.removeEventListener('abort', listener)
}

/** Creates the environment for a call that a running tool makes. `number`: distinguishes several such calls of the same tool. */
export function callWithin(ctx: ToolContext, number: number): Omit<ToolCallEnvironment, 'toolCallId'> {
  return {
    context: ctx.context,
    signal: ctx.signal,
    runId: ctx.runId,
    iteration: ctx.iteration,
    idempotencyKey: `${ctx.idempotencyKey}.${number}`,
    timeoutMs: 30_000,
    maxResultBytes: 1_048_576,
    logger: ctx.logger,
    run: ctx.run,
    trace: ctx.trace,
  }
}

/** Copies an environment so that an error in one of its callbacks is logged and does not fail the call. */
export function failSafe(environment: ToolCallEnvironment): ToolCallEnvironment {
  const { onStart, onProgress, whenOver, logger, runId, toolCallId } = environment
  const failed = (callback: string) => (error: unknown) =>
    logger.error({ runId, toolCallId, error: messageOf(error) }, `\`${callback}\` failed; the call continues`)
  const follow: ToolCallEnvironment['whenOver'] = (over) => {
    const { signal } = environment
    signal.addEventListener('abort', over, { once: true })
    let unfollow: (() => void) | undefined
    callUnawaited(() => {
      const given: unknown = syncAnswer('whenOver', whenOver?.(over))
      if (typeof given === 'function') unfollow = given as () => void
    }, failed('whenOver'))
    return () => {
      signal.removeEventListener('abort', over)
      callUnawaited(() => unfollow?.(), failed('whenOver'))
    }
  }
  return {
    ...environment,
    ...(onStart && { onStart: (args) => callUnawaited(() => onStart(args), failed('onStart')) }),
    ...(onProgress && { onProgress: (update) => callUnawaited(() => onProgress(update), failed('onProgress')) }),
    ...(whenOver && { whenOver: follow }),
  }
}
