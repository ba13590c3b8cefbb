import { Readable } from 'node:stream'
import { InvalidOptionError } from '../../core/errors.ts'
import { abortedError } from '../chat-model.ts'
import { NodeResponse } from './http.ts'

export interface ExchangeOptions {
  provider: string
  /** The caller's signal. */
  signal: AbortSignal | undefined
  /** Longest silence, from the request on, in milliseconds; `Infinity` waits for ever. */
  idleMs: number
  /** Makes the request. Its signal is aborted when the exchange is over before the response is. */
  send(signal: AbortSignal): Promise<Response>
  /** Called synchronously with each piece of the body; may throw, which ends the exchange. Returns true when no more is needed. */
  read(bytes: Uint8Array): boolean
}

/** How an exchange ended: its body came whole, fell silent, or broke off. */
export type ExchangeEnd = { how: 'whole' } | { how: 'silent'; idleMs: number } | { how: 'broken'; cause: unknown }

/** How long a body may take to end after its reader has all it needs, in milliseconds. */
const graceMs = 250
const longestTimerMs = 2 ** 31 - 1

/**
 * One HTTP request and its body, piece by piece, under the caller's signal and an idle timer. Rejects at once when aborted, with what
 * `send` rejected with, or with what `read` threw; resolves for every other end. When it settles, no listener, timer or open body is left,
 * but for a body whose reader needs no more of it: nobody waits for that one's end, which leaves the connection to the next request.
 */
export function exchange(options: ExchangeOptions): Promise<ExchangeEnd> {
  return new Promise((resolve, reject) => {
    const { provider, signal, idleMs, send, read } = options
    const inner = new AbortController()
    let stream: Readable | undefined
    let settled = false
    let timer: NodeJS.Timeout | undefined

    const close = () => {
      inner.abort()
      stream?.destroy()
    }
    const settle = (finish: () => void, isEnding = false) => {
      if (settled) return
      settled = true
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      if (!isEnding) close()
      finish()
    }
    const fail = (error: unknown) => settle(() => reject(error))
    const onAbort = () => fail(abortedError(provider, signal?.reason))
    const onSilence = () => settle(() => resolve({ how: 'silent', idleMs }))

    if (signal?.aborted) {
      reject(abortedError(provider, signal.reason))
      return
    }
    signal?.addEventListener('abort', onAbort, { once: true })
    if (idleMs < longestTimerMs) timer = setTimeout(onSilence, idleMs)
    const receive = (response: Response) => {
      const body = streamOf(response)
      stream = body
      // Whatever ends the exchange destroys the stream, whose error then has nobody else to go to.
      body.on('error', (cause) => settle(() => resolve({ how: 'broken', cause })))
      if (settled) {
        body.destroy()
        return
      }
      timer?.refresh()
      body.on('data', (bytes: Uint8Array) => {
        if (settled) return
        timer?.refresh()
        try {
          if (!read(bytes)) return
        } catch (error) {
          fail(error)
          return
        }
        settle(() => resolve({ how: 'whole' }), true)
        const late = setTimeout(close, graceMs)
        // A process that has nothing else to do need not wait for it either.
        late.unref()
        if (response instanceof NodeResponse) response.unref()
        body.once('close', () => clearTimeout(late))
      })
      body.once('end', () => settle(() => resolve({ how: 'whole' }), true))
      body.once('close', () => settle(() => resolve({ how: 'broken', cause: new Error('The connection was closed') })))
    }
    send(inner.signal).then(receive).catch(fail)
  })
}

/** Throws `invalid_option` for what a `fetch` of the caller's may resolve with and nobody can read. */
function streamOf(response: Response): Readable {
  if (response instanceof NodeResponse) return response.stream
  const body: unknown = response.body
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
