import type { FinishReason } from '../../../core/events.ts'
import { isJsonObject, type Json, type JsonObject, type ToolCall, type Usage, withoutUndefined } from '../../../core/messages.ts'
import type { ToolChoice } from '../../../models/chat-model.ts'
import { messagesFromOpenAI } from '../../../models/openai/from-openai.ts'
import type { ToolDefinition } from '../../../tools/tool.ts'
import type { TurnPlan } from '../../script.ts'
import {
  createdAt,
  type MockWire,
  objectsIn,
  type ReplyContext,
  type StreamEncoder,
  stringOf,
  type TurnPiece,
  type WireFailure,
  type WireRequest,
} from './wire.ts'

/**
 * OpenAI's Chat Completions API, which most compatible servers also speak. Source: https://platform.openai.com/docs/api-reference/chat and
 * …/chat-streaming
 */
export const chatCompletionsWire: MockWire = {
  name: 'chat-completions',
  traits: { argumentsAsText: true, anyCallId: true, rowsOfOneRole: true, refusals: true },
  layout: { contentType: 'text/event-stream; charset=utf-8', lineEnd: '\n', eventName: () => undefined, endMark: '[DONE]' },
  route: (method, path) => {
    if (method === 'POST' && path.endsWith('/chat/completions')) return 'generate'
    return method === 'GET' && (path.endsWith('/models') || path.endsWith(ollamaTags)) ? 'models' : undefined
  },
  streams: (body) => body.stream === true,
  readRequest,
  encodeStream,
  encodeWhole,
  encodeError,
  encodeStreamError: encodeError,
  encodeModels: (models, path): JsonObject =>
    path.endsWith(ollamaTags)
      ? { models: models.map(encodeOllamaModel) }
      : { object: 'list', data: models.map((id) => ({ id, object: 'model', created: createdAt, owned_by: 'mock' })) },
}

/** The path where Ollama, which speaks this format, lists its models in its own format. Source: https://docs.ollama.com/api/tags */
const ollamaTags = '/api/tags'

/** Describes a model by its name alone. */
function encodeOllamaModel(name: string): JsonObject {
  const isEmbedding = /embed/i.test(name)
  return {
    name,
    model: name,
    modified_at: '2026-01-01T00:00:00Z',
    size: 1_000_000_000,
    digest: 'mock',
    details: {
      parent_model: '',
      format: 'gguf',
      family: isEmbedding ? 'nomic-bert' : 'llama',
      parameter_size: '1B',
      quantization_level: 'Q4_0',
    },
    capabilities: isEmbedding ? ['embedding'] : ['completion', 'tools'],
  }
}

function readRequest(body: JsonObject): WireRequest {
  return {
    model: stringOf(body.model),
    // Provider data is removed, so that equal conversations compare as equal.
    messages: messagesFromOpenAI(objectsIn(body.messages)).map(({ providerData: _, ...message }) => message),
    tools: Array.isArray(body.tools) ? body.tools.filter(isToolDefinition) : undefined,
    toolChoice: isToolChoice(body.tool_choice) ? body.tool_choice : undefined,
  }
}

function isToolDefinition(tool: Json): tool is ToolDefinition & Json {
  return isJsonObject(tool) && tool.type === 'function' && isJsonObject(tool.function) && typeof tool.function.name === 'string'
}

function isToolChoice(choice: Json | undefined): choice is ToolChoice & Json {
  if (typeof choice === 'string') return ['auto', 'none', 'required'].includes(choice)
  return isJsonObject(choice) && choice.type === 'function' && isJsonObject(choice.function) && typeof choice.function.name === 'string'
}

function encodeStream(plan: TurnPlan, { id, model, body }: ReplyContext): StreamEncoder {
  const withUsage = isJsonObject(body.stream_options) && body.stream_options.include_usage === true
  const base = { id: `chatcmpl-${id}`, object: 'chat.completion.chunk', created: createdAt, model }
  const chunk = (delta: JsonObject, finishReason: string | null = null): JsonObject => ({
    ...base,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }],
    ...(withUsage ? { usage: null } : {}),
  })
  return {
    open: () => [chunk({ role: 'assistant', content: '', ...plan.providerData?.data })],
    step: (step) => [chunk(deltaOf(step, plan))],
    finish: () => [
      chunk({}, finishWord(plan)),
      ...(withUsage && plan.usage !== undefined ? [{ ...base, choices: [], usage: encodeUsage(plan.usage) }] : []),
    ],
  }
}

function deltaOf(step: TurnPiece, plan: TurnPlan): JsonObject {
  switch (step.type) {
    case 'reasoning':
      return { reasoning_content: step.text }
    case 'text':
      return { [textField(plan)]: step.text }
    case 'call': {
      const id: JsonObject = step.id === '' ? {} : { id: step.id }
      return { tool_calls: [{ index: step.index, ...id, type: 'function', function: { name: step.name, arguments: '' } }] }
    }
    case 'arguments':
      return { tool_calls: [{ index: step.index, function: { arguments: step.json } }] }
  }
}

function encodeWhole(plan: TurnPlan, { id, model }: ReplyContext): JsonObject {
  const calls = plan.toolCalls.map((call) => encodeCall(call))
  const message: JsonObject = {
    role: 'assistant',
    content: calls.length > 0 && plan.text === '' ? null : '',
    refusal: null,
    ...withoutUndefined({ reasoning_content: plan.reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...plan.providerData?.data,
  }
  if (plan.text !== '') message[textField(plan)] = plan.text
  return {
    id: `chatcmpl-${id}`,
    object: 'chat.completion',
    created: createdAt,
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishWord(plan) }],
    ...withoutUndefined({ usage: plan.usage && encodeUsage(plan.usage) }),
  }
}

function encodeCall({ id, type, function: { name, arguments: json } }: ToolCall): JsonObject {
  return { ...(id === '' ? {} : { id }), type, function: { name, arguments: json } }
}

/**
 * Returns the field for the text. A refusal is sent in its own field with a normal finish reason. Source:
 * https://platform.openai.com/docs/guides/structured-outputs#refusals
 */
function textField(plan: TurnPlan): 'content' | 'refusal' {
  return plan.finishReason === 'refusal' ? 'refusal' : 'content'
}

const finishWords: Record<FinishReason, string> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool_calls',
  content_filter: 'content_filter',
  refusal: 'stop',
  error: 'error',
}

function finishWord(plan: TurnPlan): string {
  return plan.rawFinishReason ?? finishWords[plan.finishReason]
}

function encodeUsage(usage: Usage): JsonObject {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.totalTokens,
    prompt_tokens_details: {
      cached_tokens: usage.cacheReadTokens ?? 0,
      ...withoutUndefined({ cache_write_tokens: usage.cacheWriteTokens }),
    },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
    // A field of OpenRouter: https://openrouter.ai/docs/use-cases/usage-accounting
    ...withoutUndefined({ cost: usage.costUsd }),
  }
}

/** Source: https://platform.openai.com/docs/guides/error-codes */
function encodeError({ status, message, kind }: WireFailure): JsonObject {
  if (kind === 'context_overflow') {
    return { error: { message, type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded' } }
  }
  return {
    error: { message, type: errorTypes[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error'), param: null, code: null },
  }
}

const errorTypes: Record<number, string> = { 401: 'authentication_error', 403: 'permission_error', 429: 'rate_limit_error' }
