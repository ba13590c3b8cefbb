import { TextPieces } from '../../core/text/text-pieces.ts'
import { giveWay } from '../../core/time/give-way.ts'
import { etagOf, isKnown } from './etag.ts'
import type { RateLimiter } from './rate-limit.ts'

/** Shorter texts are sent as they are. */
const pieceCharacters = 65_536
const encoder = new TextEncoder()

interface TextResponseOptions {
  status?: number
  headers?: Readonly<Record<string, string>>
  /** Who it is for: has to have room for it. */
  caller: string
  limiter: RateLimiter
  /** It may ask for nothing where it has the same already (`if-none-match`), unless it is large. */
  request?: Request
  /** It tells of something that has been done: a caller that was refused the answer would have it done again. */
  mustArrive?: boolean
}

/**
 * A response with JSON made of these parts. A large one is sent in pieces, each when the one before has been taken, and is counted until then
 * among what its caller has under way. Throws an `HttpProblem` 429 where there is no room for it, unless it must arrive.
 */
export function respondWithText(
  parts: readonly string[],
  { status = 200, headers, caller, limiter, request, mustArrive = false }: TextResponseOptions,
): Response {
  const pieces = new TextPieces(parts)
  const init = { status, headers: { 'content-type': 'application/json', ...headers } }
  if (pieces.length <= pieceCharacters) {
    const text = parts.join('')
    return request === undefined ? new Response(text, init) : respondUnlessKnown(request, text, init)
  }
  const release = mustArrive ? limiter.countCharacters(caller, pieces.length) : limiter.admitCharacters(caller, pieces.length)
  let isCancelled = false
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        // Very many may be read at once.
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
  // A browser asks each time.
  return new Response(text, { status, headers: { ...headers, etag, 'cache-control': 'private, no-cache' } })
}
