import type { MeasuredExecution, MeasuredRequest } from '../agent/observe/telemetry.ts'
import type { JsonObject, Usage } from '../core/messages.ts'
import { redact } from '../core/redaction/redact.ts'
import type { ModelResponse, Sampling } from '../models/chat-model.ts'
import type { Attributes } from './api.ts'
import { type Names, providerName, tokensOf, type UsageKind } from './names.ts'

/** Of a run's span, when it begins. */
export function executionAttributes({ providerOfAgent }: Names, execution: MeasuredExecution, agent: AgentIdentity): Attributes {
  const { provider, model, sampling, session, isJson } = execution
  return {
    'gen_ai.operation.name': 'invoke_agent',
    ...(providerOfAgent ? { 'gen_ai.provider.name': providerName(provider) } : {}),
    'gen_ai.request.model': model,
    ...agentAttributes(agent),
    ...(session === undefined ? {} : { 'gen_ai.conversation.id': session }),
    ...(isJson ? { 'gen_ai.output.type': 'json' } : {}),
    ...samplingAttributes(sampling),
  }
}

/** Whose work a span is. */
export interface AgentIdentity {
  name: string | undefined
  /** Of one that is another's tool. */
  description: string | undefined
  runId: string
  session: string | undefined
}

function agentAttributes({ name, description, runId }: AgentIdentity): Attributes {
  return {
    ...(name === undefined ? {} : { 'gen_ai.agent.name': name }),
    ...(description === undefined ? {} : { 'gen_ai.agent.description': description }),
    'toolloop.run.id': runId,
  }
}

/** Characters of a value of `metadata`. */
const longestValue = 512

/** The fields of a run's `metadata` that its spans are to have, secrets redacted; objects and lists as JSON. */
export function metadataAttributes(fields: readonly string[], metadata: JsonObject): Attributes {
  const attributes: Attributes = {}
  for (const field of fields) {
    if (!Object.hasOwn(metadata, field)) continue
    const shown = (redact({ [field]: metadata[field] }) as JsonObject)[field]
    if (shown === undefined || shown === null) continue
    const isNumeric = typeof shown === 'number' || typeof shown === 'boolean'
    const text = typeof shown === 'string' ? shown : JSON.stringify(shown)
    attributes[`toolloop.metadata.${field}`] = isNumeric ? shown : text.slice(0, longestValue).toWellFormed()
  }
  return attributes
}

/** OpenAI's two APIs as the conventions call them. */
const openAIApis: ReadonlyMap<string | undefined, string> = new Map([
  ['chat-completions', 'chat_completions'],
  ['responses', 'responses'],
])

/** Of a request's span, when it begins. */
export function requestAttributes(
  { provider, model, baseURL, api, request, iteration, isCompacted }: MeasuredRequest,
  { session }: AgentIdentity,
): Attributes {
  const { reasoningEffort, stream, responseSchema } = request
  const openAIApi = providerName(provider) === 'openai' ? openAIApis.get(api) : undefined
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': providerName(provider),
    'gen_ai.request.model': model,
    ...serverAttributes(baseURL),
    ...(session === undefined ? {} : { 'gen_ai.conversation.id': session }),
    ...(openAIApi === undefined ? {} : { 'openai.api.type': openAIApi }),
    ...(isCompacted ? { 'gen_ai.conversation.compacted': true } : {}),
    ...(stream === false ? {} : { 'gen_ai.request.stream': true }),
    ...(responseSchema === undefined ? {} : { 'gen_ai.output.type': 'json' }),
    ...(reasoningEffort === undefined ? {} : { 'gen_ai.request.reasoning.level': reasoningEffort }),
    ...samplingAttributes(request),
    'toolloop.iteration': iteration,
  }
}

/** The server of an address. */
export function serverAttributes(baseURL: string | undefined): Attributes {
  const url = baseURL === undefined ? null : URL.parse(baseURL)
  if (url === null) return {}
  const { hostname, port, protocol } = url
  return { 'server.address': hostname.replace(/^\[(.*)\]$/, '$1'), 'server.port': Number(port) || (protocol === 'http:' ? 80 : 443) }
}

function samplingAttributes(sampling: Sampling): Attributes {
  const { temperature, topP, maxOutputTokens, stop, seed, frequencyPenalty, presencePenalty } = sampling
  const attributes: Attributes = {}
  if (maxOutputTokens !== undefined) attributes['gen_ai.request.max_tokens'] = maxOutputTokens
  if (temperature !== undefined) attributes['gen_ai.request.temperature'] = temperature
  if (topP !== undefined) attributes['gen_ai.request.top_p'] = topP
  if (stop !== undefined) attributes['gen_ai.request.stop_sequences'] = [...stop]
  if (frequencyPenalty !== undefined) attributes['gen_ai.request.frequency_penalty'] = frequencyPenalty
  if (presencePenalty !== undefined) attributes['gen_ai.request.presence_penalty'] = presencePenalty
  if (seed !== undefined) attributes['gen_ai.request.seed'] = seed
  return attributes
}

/** Of a request's span, when its response is there. */
export function responseAttributes(
  names: Names,
  response: ModelResponse,
  { provider }: MeasuredRequest,
  firstChunkSeconds: number | undefined,
): Attributes {
  const { responseId, model, baseURL, usage, retries = 0, warnings = [] } = response
  // The one that answered may be another than the one that was known before.
  const attributes: Attributes = { 'gen_ai.response.finish_reasons': [finishOf(response)], ...serverAttributes(baseURL) }
  if (responseId !== undefined) attributes['gen_ai.response.id'] = responseId
  if (model !== undefined) attributes['gen_ai.response.model'] = model
  if (firstChunkSeconds !== undefined) attributes['gen_ai.response.time_to_first_chunk'] = firstChunkSeconds
  if (usage !== undefined) Object.assign(attributes, usageAttributes(names, usage))
  if (retries > 0) attributes['toolloop.retries'] = retries
  if (response.provider !== undefined && response.provider !== provider)
    attributes['toolloop.answered_by'] = providerName(response.provider)
  if (warnings.length > 0) attributes['toolloop.warnings'] = warnings.length
  return attributes
}

export function usageAttributes(names: Names, usage: Usage): Attributes {
  const attributes: Attributes = {}
  const keys: Record<UsageKind, string> = {
    input: 'gen_ai.usage.input_tokens',
    output: 'gen_ai.usage.output_tokens',
    cacheRead: names.cacheReadTokens,
    cacheWrite: names.cacheWriteTokens,
    reasoning: names.reasoningTokens,
  }
  for (const [kind, tokens] of tokensOf(usage)) attributes[keys[kind]] = tokens
  if (usage.costUsd !== undefined) attributes['toolloop.usage.cost_usd'] = usage.costUsd
  return attributes
}

/** Why a response ended. One that has calls may have been found to have them only by reading its text. */
export function finishOf({ toolCalls, finishReason }: ModelResponse): string {
  return toolCalls.length > 0 && finishReason !== 'length' ? 'tool_call' : finishReasonName(finishReason)
}

/** A finish reason as the conventions call it. */
export function finishReasonName(finishReason: string): string {
  return finishReason === 'tool_calls' ? 'tool_call' : finishReason
}
