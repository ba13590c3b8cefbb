import { ModelError } from '../../core/errors.ts'
import type { FinishReason } from '../../core/events.ts'
import { isJsonObject, type Usage } from '../../core/messages.ts'
import type { ChatModel, ModelRequest, ModelResponse } from '../../models/chat-model.ts'
import { withWholeUsage } from '../../models/usage.ts'

/** Whether there is nothing in it to go on with. */
export function isEmpty({ text, toolCalls, finishReason }: ModelResponse): boolean {
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
