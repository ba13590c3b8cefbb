import { readResult } from '../agent/large-results/read-result.ts'
import { runsAgent } from '../agent/nested/nested-items.ts'
import type { RecordedScope } from '../agent/observe/recorder.ts'
import { ToolloopError } from '../core/errors.ts'
import { copyAsJson, toJson } from '../core/json.ts'
import { type ChatMessage, isJsonObject, type JsonObject, withoutUndefined } from '../core/messages.ts'
import { type ChatModel, isModelError, type ModelRequest, type ModelResponse } from '../models/chat-model.ts'
import type { ToolSet } from '../tools/registry.ts'
import { isStandardSchema, parametersOf, standardSchemaOf } from '../tools/schema/schema.ts'
import { jsonSchemaOf } from '../tools/schema/standard-schema.ts'
import type { AnyTool } from '../tools/tool.ts'
import type { RecordedError, RecordedInput, RecordedModelInfo, RecordedModelRequest, RecordedTool } from './format.ts'

/** `json` is the input as a journal records it. */
export function describeInput({ agent, settings }: RecordedScope, json: unknown, isResumed: boolean): RecordedInput {
  const { instructions, messages = [], given = 0, settings: stored = {}, refused } = json as Stored
  const output = schemaOf(settings)
  const code = codeOf(settings, agent.offered)
  return {
    model: describeModel(agent.model),
    ...withoutUndefined({ instructions }),
    messages,
    earlier: given,
    tools: describeTools(agent.offered),
    settings: stored,
    ...withoutUndefined({ output }),
    ...('approve' in settings && settings.approve !== undefined ? { approve: true } : {}),
    ...(code.length === 0 ? {} : { code }),
    ...withoutUndefined({ refused }),
    ...(isResumed ? { partial: 'what was before it was resumed is not recorded' } : {}),
  }
}

interface Stored extends Pick<RecordedInput, 'instructions' | 'messages' | 'refused'> {
  given?: number
  settings?: JsonObject
}

export function describeModel({ provider, model, capabilities }: ChatModel): RecordedModelInfo {
  return { provider, model, capabilities: copyAsJson(capabilities) }
}

/** Describes tools. The tool that `largeResults` adds is left out, because a replay adds it again. */
export function describeTools(tools: ToolSet): RecordedTool[] {
  return tools.list().flatMap((tool) => (tool === readResult ? [] : describeTool(tool)))
}

function describeTool(tool: AnyTool): RecordedTool {
  const { name, description, strict, effect, parallel, final, approval, secrets = [], execute } = tool
  return {
    name,
    description,
    parameters: copyAsJson(parametersOf(tool)),
    ...withoutUndefined({ strict, effect }),
    ...(parallel === false ? { parallel } : {}),
    ...(final === true ? { final } : {}),
    ...(approval === undefined || approval === false ? {} : { approval: approval === true ? true : 'by call' }),
    ...(secrets.length === 0 ? {} : { secrets: [...secrets] }),
    ...(execute === undefined ? { client: true } : {}),
    ...('handsTo' in tool ? { handoff: true } : {}),
    ...(runsAgent(tool) ? { agent: true } : {}),
    ...(tool.preview === undefined ? {} : { preview: true }),
  }
}

export function describeRequest({
  messages,
  tools,
  toolChoice,
  parallelToolCalls,
  responseSchema,
  ...rest
}: ModelRequest): RecordedModelRequest {
  const { signal: _, cacheKey: _key, stream, streamIdleTimeoutMs, streamStallTimeoutMs, providerOptions, ...sampling } = rest
  const fields = {
    toolChoice,
    parallelToolCalls,
    responseSchema,
    ...sampling,
    stream,
    streamIdleTimeoutMs,
    streamStallTimeoutMs,
    providerOptions,
  }
  return {
    messages: messages.map(described),
    ...withoutUndefined({ tools }),
    ...copyAsJson(fields),
  }
}

export function describeResponse(response: unknown): ModelResponse {
  if (!isJsonObject(response)) return toJson(response) as never
  const { text, reasoning, toolCalls, finishReason, rawFinishReason, usage, providerData, provider, model, responseId, warnings, retries } =
    response as Partial<ModelResponse>
  const known = {
    text,
    reasoning,
    toolCalls,
    finishReason,
    rawFinishReason,
    usage,
    providerData,
    provider,
    model,
    responseId,
    warnings,
    retries,
  }
  return copyAsJson(known) as ModelResponse
}

/** Returns the calls of a response. Empty if `toolCalls` is not an array, because a model can return any value. */
export function callsIn(response: ModelResponse | undefined): ModelResponse['toolCalls'] {
  return Array.isArray(response?.toolCalls) ? response.toolCalls : []
}

export function describeError(thrown: unknown): RecordedError {
  if (!ToolloopError.isInstance(thrown))
    return { code: 'provider_error', message: thrown instanceof Error ? thrown.message : String(thrown) }
  const { code, message } = thrown
  if (!isModelError(thrown)) return { code, message }
  const { provider, model, status, providerCode, requestId, retryable, retryAfterMs, partial } = thrown
  return copyAsJson({ code, message, provider, model, status, providerCode, requestId, retryable, retryAfterMs, partial })
}

/** Returns the JSON Schema of the run's `output` option. */
function schemaOf(settings: object): JsonObject | undefined {
  const output = 'output' in settings ? settings.output : undefined
  if (output === undefined) return undefined
  return copyAsJson(isStandardSchema(output) ? jsonSchemaOf(output, 'output') : (output as JsonObject)) as JsonObject
}

/** Lists the options that can't be recorded: code, and objects shared with other runs. */
function codeOf(settings: object, tools: ToolSet): string[] {
  const {
    hooks = [],
    plan = [],
    around = [],
    guardrails = [],
    stopWhen,
    compaction,
    toolCalling,
    output,
    budget,
  } = settings as Partial<Record<string, unknown>>
  const there: [string, boolean][] = [
    ['hooks', Array.isArray(hooks) && hooks.length > 0],
    ['plan', Array.isArray(plan) && plan.length > 0],
    ['around', Array.isArray(around) && around.length > 0],
    ['guardrails', Array.isArray(guardrails) && guardrails.length > 0],
    ['stopWhen', stopWhen !== undefined],
    ['budget', budget !== undefined],
    ['compaction', isJsonObject(compaction) && Object.values(compaction).some((value) => typeof value === 'function')],
    ['toolCalling', typeof toolCalling === 'object'],
    ['output', isStandardSchema(output)],
    ...tools.list().map((tool): [string, boolean] => [`the schema of \`${tool.name}\``, standardSchemaOf(tool) !== undefined]),
    ['tools that are deferred', (tools.hidden?.() ?? []).length > 0],
  ]
  return there.flatMap(([name, isThere]) => (isThere ? [name] : []))
}

/**
 * Copies a message as it is sent to the model. The idempotency key of a call is left out, because it isn't sent and differs in each run.
 */
function described(message: ChatMessage): ChatMessage {
  if ('callKey' in message) {
    const { callKey: _, ...sent } = message
    return copyAsJson(sent)
  }
  return Object.isFrozen(message) ? message : copyAsJson(message)
}
