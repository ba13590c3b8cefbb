import type { ChatMessage, JsonObject } from '../../core/messages.ts'
import { toClientTools } from '../agents/client-tools.ts'
import { answerSchema, clientOptions, type Effort, type Maybe } from '../chat/chat-order.ts'
import type { Caller } from '../http/auth.ts'
import { blamingRequest } from '../http/problem.ts'
import type { RunOrder } from '../runs/run-order.ts'
import { messagesFromItems } from './input-items.ts'
import { nameIn, type ReadTools, type RequestedTool } from './requested-tools.ts'

/** A request of OpenAI's Responses API, already validated. https://platform.openai.com/docs/api-reference/responses/create */
export interface ResponseRequest {
  model: string
  input: string | JsonObject[]
  instructions?: Maybe<string>
  previous_response_id?: Maybe<string>
  store?: Maybe<boolean>
  stream?: Maybe<boolean>
  tools?: Maybe<RequestedTool[]>
  tool_choice?: Maybe<'auto' | 'none' | 'required' | { type: 'function'; name: string; namespace?: Maybe<string> }>
  parallel_tool_calls?: Maybe<boolean>
  text?: Maybe<{ format?: Maybe<{ type: 'text' | 'json_object' | 'json_schema'; schema?: JsonObject }> }>
  temperature?: Maybe<number>
  top_p?: Maybe<number>
  frequency_penalty?: Maybe<number>
  presence_penalty?: Maybe<number>
  max_output_tokens?: Maybe<number>
  reasoning?: Maybe<{ effort?: Maybe<Effort> }>
  metadata?: Maybe<Record<string, string>>
}

/** Converts the input of a request to messages. Throws an `HttpProblem` 400 if an item is invalid. */
export function readInputItems({ input }: ResponseRequest): ChatMessage[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }]
  return blamingRequest(() => messagesFromItems(input))
}

interface OrderParts {
  id: string
  caller: Caller
  context: unknown
  /** The earlier conversation, followed by the messages of the request. */
  messages: readonly ChatMessage[]
  tools: ReadTools
}

/** Converts a request to a run. Rejects with an `HttpProblem` 400. */
export async function orderOfResponse(request: ResponseRequest, { id, caller, context, messages, tools }: OrderParts): Promise<RunOrder> {
  const { instructions, tool_choice: choice, model } = request
  const options = clientOptions({
    temperature: request.temperature,
    topP: request.top_p,
    frequencyPenalty: request.frequency_penalty,
    presencePenalty: request.presence_penalty,
    maxOutputTokens: request.max_output_tokens,
    reasoningEffort: request.reasoning?.effort,
    toolChoice: typeof choice === 'object' && choice !== null ? { type: 'function', function: { name: chosenName(choice) } } : choice,
    parallelToolCalls: request.parallel_tool_calls,
    metadata: request.metadata,
  })
  return {
    id,
    caller,
    kind: 'chat',
    agent: model,
    input: [...(instructions ? [{ role: 'system' as const, content: instructions }] : []), ...messages],
    options: {
      ...options,
      ...(wantsJson(request) ? { output: await answerSchema(request.text?.format?.schema, 'text.format.schema') } : {}),
      context,
    },
    clientTools: toClientTools(tools.tools),
  }
}

function chosenName({ name, namespace }: { name: string; namespace?: Maybe<string> }): string {
  return namespace ? nameIn(namespace, name) : name
}

/** Whether the answer must be JSON. If so, the text of the response contains only the answer. */
export function wantsJson({ text }: ResponseRequest): boolean {
  return (text?.format?.type ?? 'text') !== 'text'
}
