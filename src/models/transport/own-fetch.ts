import { Readable } from 'node:stream'
import { InvalidOptionError } from '../../core/errors.ts'
import type { Send } from './send.ts'

/** Sends over a `fetch` of the caller's, in place of undici. */
export function sendOver(fetch: typeof globalThis.fetch): Send {
  return ({ url, headers }, body, receiver) => {
    const controller = new AbortController()
    const { signal } = controller
    let stream: Readable | undefined
    const transfer = async (): Promise<void> => {
      const response = await fetch(url, { method: 'POST', headers: new Headers(headers), body, redirect: 'follow', signal })
      stream = streamOf(response)
      // The loop throws it, if it is still read.
      stream.on('error', () => {})
      if (signal.aborted) stream.destroy()
      receiver.begin(response.status, response.headers)
      for await (const piece of stream) receiver.take(piece)
      receiver.end()
    }
    transfer().catch((error: unknown) => receiver.fail(error))
    return () => {
      controller.abort()
      stream?.destroy()
    }
  }
}

/** Throws `invalid_option` for what a `fetch` of the caller's may resolve with and nobody can read. */
function streamOf({ body }: { body: unknown }): Readable {
  if (body === null) return Readable.from([])
  // Other `fetch` implementations have a Node stream for a body, or a web stream of their own.
  if (body instanceof Readable) return body
  if (body instanceof ReadableStream && !body.locked) return Readable.fromWeb(body)
  if (isAsyncIterable(body) && !(body instanceof ReadableStream)) return Readable.from(body)
  throw new InvalidOptionError('fetch', 'a function whose response has a `body` that is null or an unread stream', body)
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}
