import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import type { Service } from './service.ts'

/** A request to a server of Node.js. Express puts the parsed body into `body`. */
export type NodeRequest = IncomingMessage & { body?: unknown }

/** Answers a request to a server of Node.js. Never rejects. `body`: what a framework has read of it. Default: the request's own `body`. */
export type NodeHandler = (request: NodeRequest, response: ServerResponse, body?: unknown) => Promise<void>

/**
 * Returns a request handler for servers of Node.js. `node:http` itself, Express (`app.use('/agent', nodeHandler(service))`), and Fastify,
 * whose requests and replies have theirs as `raw`. A body that was read already, be it as JSON, text or bytes, is taken; the limits of the
 * service hold for it too.
 */
export function nodeHandler(service: Service): NodeHandler {
  const bodies = new WeakMap<object, string | Uint8Array>()
  const listener = getRequestListener(
    (request, from) => {
      const body = 'incoming' in from ? bodies.get(from.incoming) : undefined
      return service.fetch(body === undefined ? request : withBody(request, body), from)
    },
    { overrideGlobalObjects: false },
  )
  return async (request, response, given) => {
    // Express calls its handlers with the function that goes on to the next one.
    const body = given === undefined || typeof given === 'function' ? request.body : given
    if (body !== undefined && request.method !== 'GET' && request.method !== 'HEAD') bodies.set(request, asSent(body))
    await listener(request, response)
  }
}

function asSent(body: unknown): string | Uint8Array {
  return typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
}

/** What the headers say of the body as it was sent no longer holds: it has been unpacked. */
function withBody({ url, method, headers, signal }: Request, body: string | Uint8Array): Request {
  const kept = [...headers].filter(([name]) => !/^(content-(encoding|length)|transfer-encoding)$/i.test(name))
  return new Request(url, { method, headers: kept, body, signal })
}
