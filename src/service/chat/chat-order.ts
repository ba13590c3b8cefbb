import { randomUUID } from 'node:crypto'
import type { RunOptions } from '../../agent/types/options.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import type { Sampling, ToolChoice } from '../../models/chat-model.ts'
import { messagesFromOpenAI } from '../../models/openai/from-openai.ts'
import type { JsonSchema } from '../../tools/tool.ts'
import { type ClientTool, openAnswerSchema, toClientTools } from '../agents/client-tools.ts'
import { refuseApproval } from '../agents/refuse-approval.ts'
import type { Caller } from '../http/auth.ts'
import { blamingRequest, HttpProblem } from '../http/problem.ts'
import type { RunOrder } from '../runs/run-order.ts'

export type Maybe<T> = T | null | undefined
export type Effort = NonNullable<Sampling['reasoningEffort']> | 'max'

/** A request of OpenAI's Chat Completions API, already validated. https://platform.openai.com/docs/api-reference/chat/create */
export interface ChatRequest {
  model: string
  messages: object[]
  stream?: Maybe<boolean>
  stream_options?: Maybe<{ include_usage?: boolean }>
  tools?: Maybe<ClientTool[]>
  tool_choice?: Maybe<ToolChoice>
  parallel_tool_calls?: Maybe<boolean>
  response_format?: Maybe<{ type: 'text' | 'json_object' | 'json_schema'; json_schema?: { schema: JsonObject } }>
  temperature?: Maybe<number>
  top_p?: Maybe<number>
  seed?: Maybe<number>
  frequency_penalty?: Maybe<number>
  presence_penalty?: Maybe<number>
  max_tokens?: Maybe<number>
  max_completion_tokens?: Maybe<number>
  reasoning_effort?: Maybe<Effort>
  stop?: Maybe<string | string[]>
  metadata?: Maybe<JsonObject>
}

/** Converts a request to a run. Rejects with an `HttpProblem` 400 if a message or a schema is invalid. */
export async function orderOfChat(request: ChatRequest, caller: Caller, context: unknown): Promise<RunOrder> {
  request.messages.forEach(checkParts)
  return {
    id: `run_${randomUUID()}`,
    caller,
    kind: 'chat',
    agent: request.model,
    input: blamingRequest(() => messagesFromOpenAI(request.messages)),
    options: { ...(await optionsOf(request)), context },
    clientTools: toClientTools(request.tools),
  }
}

/** Throws an `HttpProblem` 400 for a part of a message that the model would not see. */
function checkParts(message: object, at: number): void {
  const { role, content } = message as { role?: Json; content?: Json }
  if (role !== 'user' || !Array.isArray(content)) return
  const unknown = content.findIndex((part) => !isPart(part))
  if (unknown < 0) return
  const expected = 'Expected a part of type `text`, `image_url` with a `url`, or `file` with `file_data`'
  throw new HttpProblem(400, 'invalid_request', expected, { param: `messages.${at}.content.${unknown}` })
}

function isPart(part: Json): boolean {
  if (!isJsonObject(part)) return false
  const { type, text, image_url: image, file } = part
  if (type === 'image_url') return isJsonObject(image) && typeof image.url === 'string'
  if (type === 'file') return isJsonObject(file) && typeof file.file_data === 'string'
  return type === 'text' && typeof text === 'string'
}

/** Whether the answer must be JSON. If so, the content of the reply contains only the answer. */
export function wantsJson({ response_format: format }: ChatRequest): boolean {
  return (format ?? undefined) !== undefined && format?.type !== 'text'
}

const anyAnswer: JsonSchema = { type: 'object' }

/**
 * Compiles the schema of a JSON answer. If `given` is undefined, any object is valid. Rejects with an `HttpProblem` 400 if the schema can't
 * be compiled.
 */
export async function answerSchema(given: JsonObject | undefined, param: string): Promise<JsonSchema> {
  if (given === undefined) return anyAnswer
  return openAnswerSchema(given, param)
}

/** The settings that requests of both OpenAI APIs have in common. Null means absent. */
export interface ClientSettings {
  temperature?: Maybe<number>
  topP?: Maybe<number>
  seed?: Maybe<number>
  frequencyPenalty?: Maybe<number>
  presencePenalty?: Maybe<number>
  maxOutputTokens?: Maybe<number>
  reasoningEffort?: Maybe<Effort>
  stop?: Maybe<string[]>
  toolChoice?: Maybe<ToolChoice>
  parallelToolCalls?: Maybe<boolean>
  metadata?: Maybe<JsonObject>
}

export function clientOptions({ reasoningEffort, ...others }: ClientSettings): RunOptions {
  const settings = { ...others, reasoningEffort: reasoningEffort === 'max' ? 'xhigh' : reasoningEffort }
  return {
    ...Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined && value !== null)),
    approve: refuseApproval,
  }
}

async function optionsOf(request: ChatRequest): Promise<RunOptions> {
  const { stop, response_format: format } = request
  const options = clientOptions({
    temperature: request.temperature,
    topP: request.top_p,
    seed: request.seed,
    frequencyPenalty: request.frequency_penalty,
    presencePenalty: request.presence_penalty,
    maxOutputTokens: request.max_completion_tokens ?? request.max_tokens,
    reasoningEffort: request.reasoning_effort,
    stop: typeof stop === 'string' ? [stop] : stop,
    toolChoice: request.tool_choice,
    parallelToolCalls: request.parallel_tool_calls,
    metadata: request.metadata,
  })
  return { ...options, ...(wantsJson(request) ? { output: await answerSchema(format?.json_schema?.schema, 'response_format') } : {}) }
}
