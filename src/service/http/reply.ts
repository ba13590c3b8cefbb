import type { IncomingMessage, ServerResponse } from 'node:http'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { TextPieces } from '../../core/text/text-pieces.ts'
import { giveWay } from '../../core/time/give-way.ts'
import type { SseStream } from '../../ui/web/sse-stream.ts'
import { etagOf, isKnown } from './etag.ts'
import type { RateLimiter } from './rate-limit.ts'

export interface NodeExchange {
  /** The incoming request. Undefined if its body was already read. */
  incoming: IncomingMessage | undefined
  outgoing: ServerResponse
}

export type Answer = Response | Reply

/** A response whose body is a text or an event stream. On a Node.js server, it is written without web streams, because these are slow. */
export class Reply {
  readonly body: string | SseStream
  readonly headers: Readonly<Record<string, string>>
  readonly status: number

  constructor(body: string | SseStream, headers: Readonly<Record<string, string>>, status = 200) {
    this.body = body
    this.headers = headers
    this.status = status
  }
}

const always = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer', 'cross-origin-resource-policy': 'same-origin' }

/** Adds `headers`, and the headers that every response has. On a Node.js server, writes the response. */
export function finish(answer: Answer, headers: Readonly<Record<string, string>>, node?: NodeExchange): Response {
  if (answer instanceof Response) return withHeaders(answer, headers)
  const { body, status } = answer
  const all = { 'cache-control': 'no-store', ...answer.headers, ...always, ...headers }
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
  // The headers of a `Response` may be immutable.
  const fresh = new Response(response.body, { status: response.status, headers: response.headers })
  for (const [name, value] of Object.entries(all)) fresh.headers.set(name, value)
  return fresh
}

/** The size of a piece, in characters. A shorter text is sent as a whole. */
const pieceCharacters = 65_536
const encoder = new TextEncoder()

interface TextResponseOptions {
  status?: number
  headers?: Readonly<Record<string, string>>
  /** The response counts towards this caller's limit. */
  caller: string
  limiter: RateLimiter
  /** The request. If it is given, `if-none-match` is supported, except for large responses. */
  request?: Request
  /** Set if the request had effects. Such a response is sent even above the limit, so that the caller doesn't repeat the request. */
  mustArrive?: boolean
}

/**
 * Returns a response whose JSON body is the concatenation of `parts`. A large body is sent in pieces, as fast as the client reads. Throws
 * an `HttpProblem` 429 if the caller has too many unread responses, unless `mustArrive` is set.
 */
export function respondWithText(
  parts: readonly string[],
  { status = 200, headers, caller, limiter, request, mustArrive = false }: TextResponseOptions,
): Answer {
  const pieces = new TextPieces(parts)
  const init = { status, headers: { 'content-type': 'application/json', ...headers } }
  if (pieces.length <= pieceCharacters) {
    const text = parts.join('')
    return request === undefined ? new Reply(text, init.headers, status) : respondUnlessKnown(request, text, init)
  }
  const release = mustArrive ? limiter.countCharacters(caller, pieces.length) : limiter.admitCharacters(caller, pieces.length)
  let isCancelled = false
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        // Many responses may be sent at once, so other work gets a turn.
        await giveWay()
        if (isCancelled) return
        controller.enqueue(encoder.encode(pieces.take(pieceCharacters)))
        if (!pieces.ended) return
        release()
        controller.close()
      },
      cancel: () => {
        isCancelled = true
        release()
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(body, init)
}

function respondUnlessKnown(
  request: Request,
  text: string,
  { status, headers }: { status: number; headers: Record<string, string> },
): Answer {
  const etag = etagOf(text)
  // `no-cache` makes browsers revalidate the content for each request. A 304 must repeat `cache-control`, because browsers replace the
  // stored headers with the headers of the 304.
  const kept = { etag, 'cache-control': 'private, no-cache' }
  if (isKnown(request, etag)) return new Response(null, { status: 304, headers: kept })
  return new Reply(text, { ...headers, ...kept }, status)
}
