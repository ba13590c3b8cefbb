import { TextPieces } from '../../core/text/text-pieces.ts'
import { giveWay } from '../../core/time/give-way.ts'
import { etagOf, isKnown } from './etag.ts'
import type { RateLimiter } from './rate-limit.ts'
import { replyWith } from './reply.ts'

/** Shorter texts are sent in one piece. */
const pieceCharacters = 65_536
const encoder = new TextEncoder()

interface TextResponseOptions {
  status?: number
  headers?: Readonly<Record<string, string>>
  /** The caller who needs room for it. */
  caller: string
  limiter: RateLimiter
  /** Enables `if-none-match`, except for large responses. */
  request?: Request
  /** Set if the response reports work that was done. If it were refused, the caller would repeat the work. */
  mustArrive?: boolean
}

/**
 * Returns a response with JSON made of these parts. A large one is sent in pieces, each when the one before has been read, and counts
 * towards the caller's responses in progress until then. Throws an `HttpProblem` 429 if there is no room, unless it must arrive.
 */
export function respondWithText(
  parts: readonly string[],
  { status = 200, headers, caller, limiter, request, mustArrive = false }: TextResponseOptions,
): Response {
  const pieces = new TextPieces(parts)
  const init = { status, headers: { 'content-type': 'application/json', ...headers } }
  if (pieces.length <= pieceCharacters) {
    const text = parts.join('')
    return request === undefined ? replyWith(text, init) : respondUnlessKnown(request, text, init)
  }
  const release = mustArrive ? limiter.countCharacters(caller, pieces.length) : limiter.admitCharacters(caller, pieces.length)
  let isCancelled = false
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        // Many responses may be read at once.
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
): Response {
  const etag = etagOf(text)
  if (isKnown(request, etag)) return new Response(null, { status: 304, headers: { etag } })
  // Makes browsers revalidate each time.
  return replyWith(text, { status, headers: { ...headers, etag, 'cache-control': 'private, no-cache' } })
}
