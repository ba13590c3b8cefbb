import { callUnawaited, syncAnswer } from '../../core/callbacks/callbacks.ts'
import { type ErrorCode, messageOf } from '../../core/errors.ts'
import type { Logger } from '../../core/logger.ts'
import type { Content, Json, JsonObject } from '../../core/messages.ts'
import type { Question } from '../question.ts'
import type { ModelAnswer, ModelQuestion, ToolContext, WritableContext } from '../tool-context.ts'

/** What one call needs to know of the run it belongs to. */
export interface ToolCallEnvironment
  extends Pick<WritableContext, 'metadata' | 'answer' | 'asked' | 'decision' | 'run' | 'trace' | 'saved' | 'save' | 'mcpClient'> {
  context: unknown
  /** Aborted when the run ends: the call is then abandoned at once. */
  signal: AbortSignal
  /** Calls `over` when `signal` is aborted, until what it returns is called. Default: a listener on the signal, which costs more. */
  whenOver?(over: () => void): () => void
  toolCallId: string
  runId: string
  iteration: number
  idempotencyKey: string
  askModel?(question: ModelQuestion, ctx: ToolContext): Promise<ModelAnswer>
  /** What the call has saved. */
  readSaved?(): Promise<Json | undefined>
  /** Somebody has consented to the call. Only for `run`, which else refuses what needs an approval. */
  approved?: boolean
  /** The run's time limit of one attempt in milliseconds; the tool's own wins. */
  timeoutMs: number
  maxResultBytes: number
  maxArgumentValues?: number
  logger: Logger
  /** What the tool itself logs through. Default: `logger`. */
  toolLogger?: Logger
  /** Is given what the function came to, as it is. */
  raw?: RawEnd
  /** Called immediately before the tool's function; must not throw. */
  onStart?(args: JsonObject): void
  onProgress?(update: Json): void
}

/** What a function returned, or threw, in its last attempt. */
export interface RawEnd {
  value?: unknown
  thrown?: unknown
}

/** How a call ended, as data: running a call never throws. */
export type ToolCallEnd = ExecutedEnd | { outcome: 'rejected'; content: string; code: ErrorCode; args?: JsonObject }

/** How a call ended whose tool has been started. */
export type ExecutedEnd =
  | { outcome: 'ok'; content: Content; value: unknown; attempts: number }
  | {
      outcome: 'failed' | 'timeout' | 'cancelled'
      content: string
      code: ErrorCode
      attempts: number
      /** The call may have taken effect all the same, or its tool knows that it has. */
      effect?: 'possible' | 'known'
    }
  | { outcome: 'question'; question: Question; attempts: number }

/** For a call that a tool makes while it runs itself: its number among those tells it apart. */
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

/** The environment, whose callbacks are the caller's own: their failures are logged, and the call goes on. */
export function failSafe(environment: ToolCallEnvironment): ToolCallEnvironment {
  const { onStart, onProgress, whenOver, logger, runId, toolCallId } = environment
  const failed = (callback: string) => (error: unknown) =>
    logger.error({ runId, toolCallId, error: messageOf(error) }, `\`${callback}\` failed; the call goes on`)
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
