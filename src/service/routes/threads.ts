import { isJsonObject } from '../../core/messages.ts'
import { inputFromAgUi } from '../../ui/ag-ui/ag-ui-input.ts'
import { agUiFormat } from '../../ui/ag-ui/ag-ui-response.ts'
import { decisionsFromAgUi } from '../../ui/ag-ui/decisions-from-ag-ui.ts'
import { decisionsFromUI } from '../../ui/message-stream/decisions-from-ui.ts'
import { messagesFromUI } from '../../ui/message-stream/messages-from-ui.ts'
import { uiMessageFormat } from '../../ui/message-stream/ui-message-response.ts'
import { type ClientTool, toClientTools } from '../agents/client-tools.ts'
import { blamingRequest } from '../http/problem.ts'
import type { Call, Route, RouteResponse } from '../http/route.ts'
import { agUiInputSchema, uiChatSchema } from '../http/schemas.ts'
import { idempotencyKey, StartOnce } from '../run-requests/start-once.ts'
import type { ServiceParts } from '../service-parts.ts'
import { answerThread, rejoinThread, stopThread, type ThreadRequest } from '../threads/answer-thread.ts'

interface UIChat {
  id: string
  messages: unknown[]
  tools?: ClientTool[]
  acknowledgeHidden?: boolean
}

const events: RouteResponse = { description: 'Events', types: ['text/event-stream'] }
const nothing: RouteResponse = { description: 'No response is running' }
const model = { name: 'model', description: 'The model. Default `toolloop`.' }

/** The routes for web pages that use the AI SDK's `useChat` or AG-UI. Their runs are also available at `/v1/runs`. */
export function threadRoutes(parts: ServiceParts): Route[] {
  const once = new StartOnce(parts.runs)
  return [
    {
      method: 'POST',
      path: '/ui/chat',
      access: 'run',
      summary: 'Answers a chat of the AI SDK’s `useChat`, or carries out what its messages decide on calls that wait.',
      body: uiChatSchema,
      headers: [idempotencyKey],
      query: [model],
      responses: { 200: events },
      answer: (call) => answerThread(readChat(call), call, parts, once),
    },
    {
      method: 'GET',
      path: '/ui/chat/{thread}/stream',
      access: 'run',
      summary: 'The running response of a chat, from its beginning.',
      responses: { 200: events, 204: nothing },
      answer: (call) =>
        rejoinThread(
          threadIn(call, 'ui'),
          { from: 'beginning', format: (run) => uiMessageFormat({ messageId: messageOf(run) }) },
          call,
          parts,
        ),
    },
    {
      method: 'POST',
      path: '/ui/chat/{thread}/stop',
      access: 'run',
      summary: 'Ends the running response of a chat. Leaving its stream does not end it.',
      responses: { 204: { description: 'It has ended' } },
      answer: (call) => stopThread(threadIn(call, 'ui'), call, parts),
    },
    {
      method: 'POST',
      path: '/agui',
      access: 'run',
      summary: 'A run of an agent over AG-UI 1.0, or the answers to its interrupts.',
      body: agUiInputSchema,
      headers: [idempotencyKey],
      query: [model],
      responses: { 200: events },
      answer: (call) => answerThread(readAgUi(call), call, parts, once),
    },
    {
      method: 'GET',
      path: '/agui/{thread}/stream',
      access: 'run',
      summary: 'The running run of a thread, from where it was last resumed.',
      responses: { 200: events, 204: nothing },
      answer: (call) =>
        rejoinThread(
          threadIn(call, 'agui'),
          { from: 'last pause', format: () => agUiFormat({ threadId: call.params.thread ?? '' }) },
          call,
          parts,
        ),
    },
    {
      method: 'POST',
      path: '/agui/{thread}/stop',
      access: 'run',
      summary: 'Ends the running run of a thread. Leaving its stream does not end it.',
      responses: { 204: { description: 'It has ended' } },
      answer: (call) => stopThread(threadIn(call, 'agui'), call, parts),
    },
  ]
}

/** Returns the name of a thread. It contains the protocol, so that threads of different protocols stay separate. */
function threadOf(protocol: 'ui' | 'agui', id: string): string {
  return `${protocol}/${id}`
}

function threadIn({ params }: Call, protocol: 'ui' | 'agui'): string {
  return threadOf(protocol, params.thread ?? '')
}

/** Returns the id of a run's message on the page. The id stays the same when the run resumes and when a client reconnects. */
function messageOf(run: string): string {
  return `msg_${run}`
}

/** Reads a request of `useChat`. Throws an `HttpProblem` 400 if it is invalid. */
function readChat({ body }: Call): ThreadRequest {
  const { id, messages, tools, acknowledgeHidden = false } = body as UIChat
  const read = blamingRequest(() => messagesFromUI(messages))
  return {
    thread: threadOf('ui', id),
    messages: read,
    clientTools: toClientTools(tools),
    decide: (pending) => decisionsFromUI(messages, pending),
    answers: read.at(-1)?.role !== 'user',
    acknowledgeHidden,
    format: (run) => blamingRequest(() => uiMessageFormat({ originalMessages: messages, messageId: messageOf(run) })),
  }
}

/** Reads a request of AG-UI. Throws an `HttpProblem` 400 if it is invalid. */
function readAgUi({ body }: Call): ThreadRequest {
  const input = blamingRequest(() => inputFromAgUi(body))
  const { forwardedProps } = input
  return {
    thread: threadOf('agui', input.threadId),
    messages: input.messages,
    clientTools: input.tools,
    decide: (pending) => decisionsFromAgUi(input, pending),
    answers: input.resume.length > 0 || input.messages.at(-1)?.role === 'tool',
    acknowledgeHidden: isJsonObject(forwardedProps) && forwardedProps.acknowledgeHidden === true,
    format: () => agUiFormat(input),
  }
}
