import type { Agent, AgentHost } from '../agents/agent-host.ts'
import { type ChatRequest, orderOfChat, wantsJson } from '../chat/chat-order.ts'
import { ChatReply } from '../chat/chat-reply.ts'
import { HttpProblem } from '../http/problem.ts'
import { chatCompletionSchema, chatRequestSchema, modelListSchema, modelSchema } from '../http/schemas.ts'
import { respondWithText } from '../http/text-response.ts'
import type { RunOrder } from '../runs/stored-run.ts'
import type { ServiceParts } from '../service-parts.ts'
import type { Call, Route } from './route.ts'

/** The front that clients of OpenAI's API know: an agent looks like a model. */
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

async function completeChat({ request, body, caller }: Call, { host, runs, streams, limiter, contextOf }: ServiceParts): Promise<Response> {
  const chat = body as ChatRequest
  const order = await orderOfChat(chat, caller, await contextOf(request, caller))
  await checkChoice(chat, order, host)
  const isStream = chat.stream === true
  const reply = new ChatReply(
    { id: order.id, model: chat.model, answerOnly: wantsJson(chat), includeUsage: chat.stream_options?.include_usage === true },
    { streams: isStream },
  )
  if (!isStream) limiter.checkCharacters(caller.name)
  const release = isStream ? limiter.admitStream(caller.name) : () => {}
  try {
    const run = await runs.start(order, reply)
    const headers = { 'x-run-id': run.id }
    // Nobody else can ask for the answer: without its reader the run is for nothing.
    const leave = () => run.abort('the client has gone')
    reply.onOverflow = leave
    if (isStream) {
      const onClose = (ending: 'ended' | 'gone') => {
        release()
        if (ending === 'gone') leave()
      }
      return streams.respond(reply, { headers, onClose })
    }
    request.signal.addEventListener('abort', leave, { once: true })
    try {
      if (request.signal.aborted) leave()
      return respondWithText([JSON.stringify(await reply.completion())], { headers, caller: caller.name, limiter, mustArrive: true })
    } finally {
      request.signal.removeEventListener('abort', leave)
    }
  } catch (error) {
    release()
    throw error
  }
}

/** Rejects with an `HttpProblem` 400 if `tool_choice` names an unknown tool. */
async function checkChoice({ tool_choice: choice }: ChatRequest, { clientTools }: RunOrder, host: AgentHost): Promise<void> {
  if (typeof choice !== 'object' || choice === null) return
  const tools = await host.toolsFor(clientTools)
  if (tools.get(choice.function.name) !== undefined) return
  throw new HttpProblem(400, 'invalid_request', `Unknown tool. Available: ${tools.names().join(', ')}`, {
    param: 'tool_choice.function.name',
  })
}
