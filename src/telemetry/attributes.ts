import type { MeasuredExecution, MeasuredRequest } from '../agent/observe/telemetry.ts'
import type { JsonObject, Usage } from '../core/messages.ts'
import { redact } from '../core/redaction/redact.ts'
import type { ModelResponse, Sampling } from '../models/chat-model.ts'
import type { Attributes } from './api.ts'
import { type Names, providerName, tokensOf, type UsageKind } from './names.ts'

/** Returns the attributes with which the span of an execution starts. */
export function executionAttributes({ providerOfAgent }: Names, execution: MeasuredExecution, agent: AgentIdentity): Attributes {
  const { provider, model, sampling, session, isJson } = execution
  return {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.provider.name': providerOfAgent ? providerName(provider) : undefined,
    'gen_ai.request.model': model,
    ...agentAttributes(agent),
    'gen_ai.conversation.id': session,
    'gen_ai.output.type': isJson ? 'json' : undefined,
    ...samplingAttributes(sampling),
  }
}

/** The agent that a span belongs to. */
export interface AgentIdentity {
  name: string | undefined
  /** Set if the agent is a tool of another agent. */
  description: string | undefined
  runId: string
  session: string | undefined
}

function agentAttributes({ name, description, runId }: AgentIdentity): Attributes {
  return {
    'gen_ai.agent.name': name,
    'gen_ai.agent.description': description,
    'toolloop.run.id': runId,
  }
}

/** Maximum number of characters of a `metadata` value. */
const longestValue = 512

/** Returns fields of a run's `metadata` as attributes, with secrets redacted. Objects and lists become JSON. */
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

/** The names that the semantic conventions use for OpenAI's two APIs. */
const openAIApis: ReadonlyMap<string | undefined, string> = new Map([
  ['chat-completions', 'chat_completions'],
  ['responses', 'responses'],
])

/** Returns the attributes with which the span of a request starts. */
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
    'gen_ai.conversation.id': session,
    'openai.api.type': openAIApi,
    'gen_ai.conversation.compacted': isCompacted || undefined,
    'gen_ai.request.stream': stream === false ? undefined : true,
    'gen_ai.output.type': responseSchema === undefined ? undefined : 'json',
    'gen_ai.request.reasoning.level': reasoningEffort,
    ...samplingAttributes(request),
    'toolloop.iteration': iteration,
  }
}

/** Returns the attributes that identify the server at a base URL. */
export function serverAttributes(baseURL: string | undefined): Attributes {
  const url = baseURL === undefined ? null : URL.parse(baseURL)
  if (url === null) return {}
  const { hostname, port, protocol } = url
  return { 'server.address': hostname.replace(/^\[(.*)\]$/, '$1'), 'server.port': Number(port) || (protocol === 'http:' ? 80 : 443) }
}

function samplingAttributes(sampling: Sampling): Attributes {
  return {
    'gen_ai.request.max_tokens': sampling.maxOutputTokens,
    'gen_ai.request.temperature': sampling.temperature,
    'gen_ai.request.top_p': sampling.topP,
    'gen_ai.request.stop_sequences': sampling.stop && [...sampling.stop],
    'gen_ai.request.frequency_penalty': sampling.frequencyPenalty,
    'gen_ai.request.presence_penalty': sampling.presencePenalty,
    'gen_ai.request.seed': sampling.seed,
  }
}

/** Returns the attributes that the response adds to the span of a request. */
export function responseAttributes(
  names: Names,
  response: ModelResponse,
  { provider }: MeasuredRequest,
  firstChunkSeconds: number | undefined,
): Attributes {
  const { responseId, model, baseURL, usage, retries = 0, warnings = [] } = response
  const isAnotherProvider = response.provider !== undefined && response.provider !== provider
  return {
    // Sets the server again, because a server other than the requested server may have responded.
    ...serverAttributes(baseURL),
    'gen_ai.response.finish_reasons': [finishOf(response)],
    'gen_ai.response.id': responseId,
    'gen_ai.response.model': model,
    'gen_ai.response.time_to_first_chunk': firstChunkSeconds,
    ...(usage && usageAttributes(names, usage)),
    'toolloop.retries': retries || undefined,
    'toolloop.answered_by': isAnotherProvider ? providerName(response.provider ?? '') : undefined,
    'toolloop.warnings': warnings.length || undefined,
  }
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

/**
 * Returns the finish reason of a response. A response with calls has the reason `tool_call`, even if the calls were parsed from its text.
 */
export function finishOf({ toolCalls, finishReason }: ModelResponse): string {
  return toolCalls.length > 0 && finishReason !== 'length' ? 'tool_call' : finishReasonName(finishReason)
}

/** Returns the name of a finish reason in the conventions. */
export function finishReasonName(finishReason: string): string {
  return finishReason === 'tool_calls' ? 'tool_call' : finishReason
}
