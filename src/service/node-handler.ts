import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { nodeFetchOf, type Service } from './service.ts'

/** A request of a Node.js server. Express stores the parsed body in the field `body`. */
export type NodeRequest = IncomingMessage & { body?: unknown }

/**
 * Answers a request of a Node.js server. Never rejects. `body` is the request body, if a framework has already read it. Default:
 * `request.body`.
 */
export type NodeHandler = (request: NodeRequest, response: ServerResponse, body?: unknown) => Promise<void>

/**
 * Returns a request handler for Node.js servers: `node:http`, Express (`app.use('/agent', nodeHandler(service))`), and Fastify (pass
 * `request.raw` and `reply.raw`). If a framework has already read the body, the handler accepts it as JSON, text or bytes. The limits of
 * the service also apply to such a body.
 */
export function nodeHandler(service: Service): NodeHandler {
  const bodies = new WeakMap<object, string | Uint8Array>()
  const answer = nodeFetchOf(service)
  const listener = getRequestListener(
    (request, from) => {
      const body = 'incoming' in from ? bodies.get(from.incoming) : undefined
      return body === undefined ? answer(request, from) : answer(withBody(request, body), from, { isBodyRead: true })
    },
    { overrideGlobalObjects: false },
  )
  return async (request, response, given) => {
    // A function is ignored, because Express passes its `next` function as the third argument.
    const body = given === undefined || typeof given === 'function' ? request.body : given
    if (body !== undefined && request.method !== 'GET' && request.method !== 'HEAD') bodies.set(request, asSent(body))
    await listener(request, response)
  }
}

function asSent(body: unknown): string | Uint8Array {
  return typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
}

/** Replaces the body of a request. Removes headers about the length and encoding of the old body. */
function withBody({ url, method, headers, signal }: Request, body: string | Uint8Array): Request {
  const kept = [...headers].filter(([name]) => !/^(content-(encoding|length)|transfer-encoding)$/i.test(name))
  return new Request(url, { method, headers: kept, body, signal })
}
