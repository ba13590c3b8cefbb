import { ModelError } from '../../core/errors.ts'
import type { FinishReason } from '../../core/events.ts'
import { isJsonObject, type Usage } from '../../core/messages.ts'
import { abortedError, type ChatModel, type ModelRequest, type ModelResponse } from '../../models/chat-model.ts'
import { sumOfUsage, withWholeUsage } from '../../models/usage.ts'
import type { RunContext } from '../run/run-context.ts'
import type { ReadResponse } from '../text-calls/read-call.ts'
import type { AroundModel, ModelCall } from './model-call.ts'

/** Sends a request to its model. A model that ignores its signal is left behind when the run is interrupted. */
export async function sendRequest(run: RunContext, { model, request, sink, turn }: ModelCall): Promise<ReadResponse> {
  // `async` turns a model that throws at once into one that rejects.
  const ask = async () => model.generate(request, turn.complete(sink))
  const asking = ask()
  const response = await run.untilInterrupted(asking)
  if (run.signal.aborted) {
    // One that heeds its signal rejects at once, and tells what has come and what was used.
    await Promise.race([asking, nextTick()])
    throw abortedError(model.provider)
  }
  return takeResponse(response, model, request)
}

/** An empty response is nearly always a hiccup, and there is nothing in it to go on with: it is asked for once more. */
export function askOnceMore(run: RunContext): AroundModel {
  return async (call, next) => {
    const { turn, model: asked } = call
    const ask = async (): Promise<ReadResponse> => {
      try {
        return await next({ ...call, sink: turn.open() })
      } finally {
        turn.close()
      }
    }
    const first = await ask()
    if (!isEmpty(first)) return first
    turn.usedBefore = first.usage
    const { provider, model } = asked
    run.logger.warn({ runId: run.runId, provider, model, finishReason: first.finishReason }, 'empty response, asking once more')
    const again = await ask()
    const usage = sumOfUsage(first.usage, again.usage)
    const second = { ...again, ...(usage === undefined ? {} : { usage }), retries: (again.retries ?? 0) + 1 }
    if (!isEmpty(second)) return second
    turn.usedBefore = second.usage
    const reason = second.rawFinishReason ?? second.finishReason
    const message = `The model answered twice with neither text nor calls (finish reason \`${reason}\`)`
    throw new ModelError('empty_response', message, { provider, model, retryable: false })
  }
}

function nextTick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Whether there is nothing in it to go on with. */
function isEmpty({ text, toolCalls, finishReason }: ModelResponse): boolean {
  return toolCalls.length === 0 && text.trim() === '' && finishReason !== 'refusal' && finishReason !== 'content_filter'
}

const finishReasons: readonly FinishReason[] = ['stop', 'length', 'tool_calls', 'content_filter', 'refusal', 'error']

/** The response of a model as the loop relies on it: checked, and with what the request has used. Throws `bad_response` or `provider_error`. */
export function takeResponse(
  response: unknown,
  model: Pick<ChatModel, 'provider' | 'model'>,
  request: ModelRequest,
): ModelResponse & { usage: Usage } {
  return withWholeUsage(request, checkResponse(response, model))
}

/** A model written by others may return anything: what the loop reads is checked once, here. */
function checkResponse(response: unknown, { provider, model }: Pick<ChatModel, 'provider' | 'model'>): ModelResponse {
  const fail = (what: string): never => {
    throw new ModelError('bad_response', `Expected the model's response to have ${what}`, { provider, model, retryable: false })
  }
  if (!isJsonObject(response)) return fail('the fields of a ModelResponse')
  const given: Partial<ModelResponse> = response
  const { text = '', toolCalls = [], finishReason = 'stop' } = given
  if (typeof text !== 'string') fail('a `text` that is a string')
  if (!Array.isArray(toolCalls)) fail('`toolCalls` that are an array')
  for (const call of toolCalls) {
    if (typeof call?.function?.name !== 'string' || typeof call.function.arguments !== 'string' || typeof call.id !== 'string') {
      fail('`toolCalls` of the shape `{id, type, function: {name, arguments}}` with texts')
    }
  }
  if (!finishReasons.includes(finishReason)) fail(`a \`finishReason\` out of ${finishReasons.join(', ')}`)
  if (finishReason === 'error') {
    const warnings = Array.isArray(given.warnings) ? given.warnings : []
    const told = [text === '' ? '' : ` after: ${text}`, ...warnings].join('. ')
    throw new ModelError('provider_error', `The provider ended the response with an error${told}`, {
      provider,
      model,
      retryable: false,
      partial: { text, ...(given.usage === undefined ? {} : { usage: given.usage }) },
    })
  }
  return { ...given, text, toolCalls, finishReason }
}
