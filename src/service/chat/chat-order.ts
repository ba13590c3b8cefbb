import { randomUUID } from 'node:crypto'
import type { RunOptions } from '../../agent/run.ts'
import type { JsonObject } from '../../messages.ts'
import type { Sampling, ToolChoice } from '../../models/model.ts'
import { messagesFromOpenAI } from '../../openai-messages.ts'
import { type ClientTool, toClientTools } from '../client-tools.ts'
import type { Caller } from '../http/auth.ts'
import type { RunOrder } from '../runs/stored-run.ts'

type Maybe<T> = T | null | undefined

/** A request of OpenAI's Chat Completions API; its schema has been checked. https://platform.openai.com/docs/api-reference/chat/create */
export interface ChatRequest {
  model: string
  messages: object[]
  stream?: Maybe<boolean>
  stream_options?: Maybe<{ include_usage?: boolean }>
  tools?: ClientTool[]
  tool_choice?: ToolChoice
  parallel_tool_calls?: boolean
  response_format?: { type: 'text' | 'json_object' | 'json_schema'; json_schema?: { schema: JsonObject } }
  temperature?: Maybe<number>
  top_p?: Maybe<number>
  seed?: Maybe<number>
  frequency_penalty?: Maybe<number>
  presence_penalty?: Maybe<number>
  max_tokens?: Maybe<number>
  max_completion_tokens?: Maybe<number>
  reasoning_effort?: Maybe<NonNullable<Sampling['reasoningEffort']>>
  stop?: Maybe<string | string[]>
}

/** The run such a request asks for. Throws `invalid_message`. */
export function orderOfChat(request: ChatRequest, caller: Caller): RunOrder {
  return {
    id: `run_${randomUUID()}`,
    caller,
    kind: 'chat',
    agent: request.model,
    input: messagesFromOpenAI(request.messages),
    options: optionsOf(request),
    clientTools: toClientTools(request.tools),
  }
}

/** Whether the answer is to be JSON: then nothing but the answer may be in the reply's content. */
export function wantsJson({ response_format }: ChatRequest): boolean {
  return response_format !== undefined && response_format.type !== 'text'
}

function optionsOf(request: ChatRequest): RunOptions {
  const { tool_choice, parallel_tool_calls, stop } = request
  const sampling = {
    temperature: request.temperature,
    topP: request.top_p,
    seed: request.seed,
    frequencyPenalty: request.frequency_penalty,
    presencePenalty: request.presence_penalty,
    maxOutputTokens: request.max_completion_tokens ?? request.max_tokens,
    reasoningEffort: request.reasoning_effort,
    stop: typeof stop === 'string' ? [stop] : stop,
  }
  return {
    ...Object.fromEntries(Object.entries(sampling).filter(([, value]) => value !== undefined && value !== null)),
    ...(tool_choice === undefined ? {} : { toolChoice: tool_choice }),
    ...(parallel_tool_calls === undefined ? {} : { parallelToolCalls: parallel_tool_calls }),
    ...(wantsJson(request) ? { output: request.response_format?.json_schema?.schema ?? { type: 'object' } } : {}),
    // There is no place in this API for somebody's consent.
    approve: () => ({ approved: false, reason: 'this call needs an approval, which cannot be given here' }),
  }
}
