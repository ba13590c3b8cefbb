import { handleRejectionOf, syncAnswer } from '../../core/callbacks/callbacks.ts'
import { InvalidOptionError, ModelError, messageOf } from '../../core/errors.ts'
import { addUsage, type Usage, withoutUndefined } from '../../core/messages.ts'
import { wait } from '../../core/time/wait.ts'
import {
  abortedError,
  type ChatModel,
  isModelError,
  type ModelRequest,
  type ModelResponse,
  type ModelRetry,
  type ModelSink,
} from '../chat-model.ts'
import { writtenCallOf } from '../errors/provider-error.ts'
import { sumOfUsage, usageOfAttempt, usageOfFailure, withUsage, withWholeUsage } from '../usage.ts'

export interface RetryOptions {
  /** Maximum number of retries of a failed request. Default 2. */
  maxRetries?: number
  /** Maximum wait between two attempts, in milliseconds. Default 30,000. */
  maxRetryDelayMs?: number
  /** The first wait, in milliseconds. Each further wait is twice as long, minus a random part of up to a quarter. Default 500. */
  firstDelayMs?: number
}

export const defaultMaxRetryDelayMs = 30_000

/**
 * Wraps a model so that failed requests are retried if their error is `retryable`. A request is not retried if a piece of its response was
 * already streamed and can't be taken back (see `ModelSink.restart`). Waits as long as a provider's `retry-after` says. Gives up if this
 * time exceeds `maxRetryDelayMs`. An abort ends a wait at once. The usage of the response, or of the error, covers all attempts. Throws
 * `invalid_option` for options out of range.
 */
export function withRetry(model: ChatModel, options: RetryOptions = {}): ChatModel {
  const { maxRetries = 2, maxRetryDelayMs = defaultMaxRetryDelayMs, firstDelayMs = 500 } = options
  if (!(Number.isInteger(maxRetries) && maxRetries >= 0)) throw new InvalidOptionError('maxRetries', 'an integer ≥ 0', maxRetries)
  if (!(maxRetryDelayMs >= 0)) throw new InvalidOptionError('maxRetryDelayMs', 'a number of milliseconds ≥ 0', maxRetryDelayMs)
  if (!(firstDelayMs >= 0)) throw new InvalidOptionError('firstDelayMs', 'a number of milliseconds ≥ 0', firstDelayMs)

  return {
    provider: model.provider,
    model: model.model,
    get capabilities() {
      return model.capabilities
    },
    get baseURL() {
      return model.baseURL
    },
    get api() {
      return model.api
    },
    async prepare(): Promise<void> {
      await model.prepare?.()
    },
    async generate(request: ModelRequest, sink?: ModelSink): Promise<ModelResponse> {
      const watched = sink && restartable(sink)
      let spent: Spent = { usage: undefined, isEstimated: false }
      for (let retries = 0; ; retries++) {
        try {
          const response = await model.generate(request, watched)
          return afterFailures(request, response, retries, spent)
        } catch (error) {
          const told = (last: unknown) => {
            return spent.usage === undefined ? last : withUsage(last, sumOfUsage(spent.usage, usageOfFailure(last)))
          }
          if (!isModelError(error)) throw told(error)
          const meant = await readRefused(error, watched)
          if (meant !== undefined) return afterFailures(request, meant, retries, spent)
          if (!error.retryable || retries >= maxRetries) throw told(error)
          if ((error.retryAfterMs ?? 0) > maxRetryDelayMs) throw told(tooLong(error, maxRetryDelayMs))
          if (watched?.restart(true) === false) throw told(error)
          spent = withAttempt(spent, request, error)
          const backoff = Math.min(firstDelayMs * 2 ** retries, maxRetryDelayMs) * (1 - Math.random() / 4)
          const delayMs = error.retryAfterMs ?? backoff
          const { provider, model: name } = model
          watched?.retry?.({ provider, model: name, errorCode: error.code, error: error.message, delayMs })
          const waited = await wait(delayMs, request.signal)
          if (!waited) throw told(abortedError(model.provider, request.signal?.reason))
        }
      }
    },
  }
}

/** If the provider refused the model's output as a malformed call, lets the sink's `readRefused` read it. */
async function readRefused(error: ModelError, sink: ModelSink | undefined): Promise<ModelResponse | undefined> {
  const text = writtenCallOf(error)
  const meant = text === undefined ? undefined : await sink?.readRefused?.(text)
  return meant && { ...meant, finishReason: 'tool_calls', rawFinishReason: error.providerCode, warnings: [error.message] }
}

/** The usage of failed attempts. */
interface Spent {
  usage: Usage | undefined
  /** Whether the usage contains an estimate, because a failed attempt did not report its usage. */
  isEstimated: boolean
}

function withAttempt({ usage, isEstimated }: Spent, request: ModelRequest, error: ModelError): Spent {
  const used = usageOfAttempt(request, error)
  const isReported = used === undefined || error.partial?.usage !== undefined
  return { usage: sumOfUsage(usage, used), isEstimated: isEstimated || !isReported }
}

function afterFailures(request: ModelRequest, response: ModelResponse, failed: number, spent: Spent): ModelResponse {
  if (failed === 0) return response
  const retries = failed + (response.retries ?? 0)
  if (spent.usage === undefined) return { ...response, retries }
  const whole = withWholeUsage(request, response)
  const warning = 'The usage of a response that broke off was not reported, and is estimated'
  const warnings = spent.isEstimated ? { warnings: [...(whole.warnings ?? []), warning] } : {}
  return { ...whole, usage: addUsage(spent.usage, whole.usage), retries, ...warnings }
}

/**
 * Wraps a sink so that it always has a `restart` function. If a function of the sink is async, contrary to its type, and rejects, the
 * process emits a warning.
 */
export function restartable(sink: ModelSink): RestartableSink {
  let isShown = false
  const restart = (retries?: boolean) => (sink.restart === undefined ? !isShown : syncAnswer('restart', sink.restart(retries)) === true)
  const { retry, queued, readRefused, text, reasoning, toolCallStart, toolCallDelta } = sink
  const shown =
    <Args extends unknown[]>(hear: (...args: Args) => unknown) =>
    (...args: Args) => {
      isShown = true
      heard(hear.apply(sink, args))
    }
  const functions: Partial<ModelSink> = withoutUndefined({
    retry: retry && ((failure: ModelRetry) => heard(retry.call(sink, failure))),
    queued: queued && ((ahead: number) => heard(queued.call(sink, ahead))),
    readRefused:
      readRefused && (async (refused: string) => (sink.restart === undefined && isShown ? undefined : readRefused.call(sink, refused))),
    text: text && shown(text),
    reasoning: reasoning && shown(reasoning),
    toolCallStart: toolCallStart && shown(toolCallStart),
    toolCallDelta: toolCallDelta && shown(toolCallDelta),
  })
  return { restart, ...functions }
}

function heard(returned: unknown): void {
  if (returned !== undefined) handleRejectionOf(returned, warnOfSink)
}

function warnOfSink(error: unknown): void {
  process.emitWarning(messageOf(error), { type: 'ToolloopSinkFailure' })
}

export type RestartableSink = ModelSink & { restart(retries?: boolean): boolean }

function tooLong(error: ModelError, maxRetryDelayMs: number): ModelError {
  const { code, message, retryAfterMs, cause, ...fields } = error
  const note = `it asks to wait ${retryAfterMs} ms, longer than \`maxRetryDelayMs\` (${maxRetryDelayMs})`
  return new ModelError(code, `${message}. Not retried: ${note}`, {
    ...fields,
    ...withoutUndefined({ retryAfterMs }),
    cause: error,
  })
}
