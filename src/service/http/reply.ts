import type { IncomingMessage, ServerResponse } from 'node:http'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { SseStream } from '../../ui/web/sse-stream.ts'

/** A request of a Node.js server, and the response that answers it. */
export interface NodeExchange {
  /** Undefined if the body was already read. */
  incoming: IncomingMessage | undefined
  outgoing: ServerResponse
}

interface Reply {
  headers: Readonly<Record<string, string>>
  body: string | SseStream
}

/** What belongs to the responses of `replyWith`. */
const replies = new WeakMap<Response, Reply>()

/**
 * Returns a response whose headers and body `finishResponse` adds. On a Node.js server, they are written without web streams, which would
 * take most of the time of a short response.
 */
export function replyWith(body: Reply['body'], { status = 200, headers }: { status?: number; headers: Reply['headers'] }): Response {
  const response = new Response(null, { status })
  replies.set(response, { headers, body })
  return response
}

const always = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer', 'cross-origin-resource-policy': 'same-origin' }

/** Adds the headers that every response has, and `headers`. Writes a response of `replyWith` to the Node.js server, if there is one. */
export function finishResponse(response: Response, headers: Readonly<Record<string, string>>, node?: NodeExchange): Response {
  const reply = replies.get(response)
  if (reply === undefined) return withHeaders(response, headers)
  const { body } = reply
  const { status } = response
  const all = { 'cache-control': 'no-store', ...reply.headers, ...always, ...headers }
  if (node === undefined) return new Response(typeof body === 'string' ? body : body.body, { status, headers: all })
  const { outgoing } = node
  if (typeof body === 'string') outgoing.writeHead(status, { ...all, 'content-length': Buffer.byteLength(body) }).end(body)
  else {
    outgoing.writeHead(status, all).flushHeaders()
    body.sendTo(outgoing)
  }
  return RESPONSE_ALREADY_SENT
}

function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  const all = { ...always, ...(response.headers.has('cache-control') ? {} : { 'cache-control': 'no-store' }), ...headers }
  // The headers of a response created elsewhere may be immutable.
  const fresh = new Response(response.body, { status: response.status, headers: response.headers })
  for (const [name, value] of Object.entries(all)) fresh.headers.set(name, value)
  return fresh
}
