import { ModelError } from '../../core/errors.ts'
import type { FinishReason } from '../../core/events.ts'
import { isJsonObject, type Usage, withoutUndefined } from '../../core/messages.ts'
import { type ChatModel, type ModelRequest, type ModelResponse, withoutDeclinedCalls } from '../../models/chat-model.ts'
import { withWholeUsage } from '../../models/usage.ts'

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
  const { text = '', toolCalls = [], finishReason = 'stop', ...given }: Partial<ModelResponse> = response
  if (typeof text !== 'string') fail('a string `text`')
  if (!Array.isArray(toolCalls)) fail('an array `toolCalls`')
  for (const call of toolCalls) {
    if (typeof call?.function?.name !== 'string' || typeof call.function.arguments !== 'string' || typeof call.id !== 'string') {
      fail('`toolCalls` of the shape `{id, type, function: {name, arguments}}` with strings')
    }
  }
  if (!finishReasons.includes(finishReason)) fail(`a \`finishReason\` that is one of ${finishReasons.join(', ')}`)
  if (finishReason === 'error') {
    const told = [text === '' ? '' : ` after: ${text}`, ...(Array.isArray(given.warnings) ? given.warnings : [])].join('. ')
    throw new ModelError('provider_error', `The provider ended the response with an error${told}`, {
      provider,
      model,
      retryable: false,
      partial: { text, ...withoutUndefined({ usage: given.usage }) },
    })
  }
  const checked = { ...given, text, toolCalls, finishReason }
  return finishReason === 'content_filter' || finishReason === 'refusal' ? withoutDeclinedCalls(checked) : checked
}

/** Whether there is nothing in it to go on with. */
export function isEmpty({ text, toolCalls, finishReason }: ModelResponse): boolean {
  return toolCalls.length === 0 && text.trim() === '' && finishReason !== 'refusal' && finishReason !== 'content_filter'
}
