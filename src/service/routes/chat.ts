import type { Agent } from '../agents/agent-host.ts'
import { answerClient, checkChoice } from '../chat/answer-client.ts'
import { type ChatRequest, orderOfChat, wantsJson } from '../chat/chat-order.ts'
import { ChatReply } from '../chat/chat-reply.ts'
import type { Answer } from '../http/reply.ts'
import type { Call, Route } from '../http/route.ts'
import { chatCompletionSchema, chatRequestSchema, modelListSchema, modelSchema } from '../http/schemas.ts'
import type { ServiceParts } from '../service-parts.ts'

/** The routes of OpenAI's Chat Completions API. Clients address each agent as a model. */
export function chatRoutes(parts: ServiceParts): Route[] {
  return [
    {
      method: 'POST',
      path: '/v1/chat/completions',
      access: 'run',
      summary: 'Answers a conversation. Calls to tools of the request are returned as `tool_calls`; the service runs all others.',
      body: chatRequestSchema,
      responses: {
        200: { description: 'The completion, or its chunks', schema: chatCompletionSchema, types: ['text/event-stream'] },
        502: { description: 'The model failed' },
      },
      answer: (call) => completeChat(call, parts),
    },
    {
      method: 'GET',
      path: '/v1/models',
      access: 'run',
      summary: 'The available agents, as models.',
      responses: { 200: { description: 'A list in OpenAI’s format', schema: modelListSchema } },
      answer: () => Response.json({ object: 'list', data: parts.host.agents.map(describeModel) }),
    },
    {
      method: 'GET',
      path: '/v1/models/{id}',
      access: 'run',
      summary: 'An agent, as a model.',
      responses: { 200: { description: 'A model in OpenAI’s format', schema: modelSchema } },
      answer: ({ params }) => Response.json(describeModel(parts.host.agent(params.id ?? ''))),
    },
  ]
}

function describeModel({ name }: Agent): object {
  return { id: name, object: 'model', created, owned_by: 'toolloop' }
}

const created = Math.floor(Date.now() / 1000)

async function completeChat(call: Call, parts: ServiceParts): Promise<Answer> {
  const chat = call.body as ChatRequest
  const order = await orderOfChat(chat, call.caller, await parts.contextOf(call.request, call.caller))
  await checkChoice(order, parts.host, 'tool_choice.function.name')
  const reply = new ChatReply(
    { id: order.id, model: chat.model, answerOnly: wantsJson(chat), includeUsage: chat.stream_options?.include_usage === true },
    { streams: chat.stream === true },
  )
  return answerClient(order, reply, call, parts)
}
