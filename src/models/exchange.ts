import { Readable } from 'node:stream'
import { NodeResponse } from './http.ts'
import { abortedError } from './model.ts'

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

/** How long a body may take to end after its reader has all it needs, in milliseconds. Ended bodies leave their connection reusable. */
const graceMs = 250
const longestTimerMs = 2 ** 31 - 1

/**
 * One HTTP request and its body, piece by piece, under the caller's signal and an idle timer. Rejects at once when aborted, with what
 * `send` rejected with, or with what `read` threw; resolves for every other end. When it settles, no listener, timer or open body is left.
 */
export function exchange(options: ExchangeOptions): Promise<ExchangeEnd> {
  return new Promise((resolve, reject) => {
    const { provider, signal, idleMs, send, read } = options
    const inner = new AbortController()
    let stream: Readable | undefined
    let settled = false
    let enough = false
    let timer: NodeJS.Timeout | undefined

    const settle = (finish: () => void, leaveOpen = false) => {
      if (settled) return
      settled = true
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      if (!leaveOpen) {
        inner.abort()
        stream?.destroy()
      }
      finish()
    }
    const fail = (error: unknown) => settle(() => reject(error))
    const onAbort = () => fail(abortedError(provider, signal?.reason))
    const onSilence = () => settle(() => resolve(enough ? { how: 'whole' } : { how: 'silent', idleMs }))
    const wait = (ms: number) => {
      clearTimeout(timer)
      timer = ms < longestTimerMs ? setTimeout(onSilence, ms) : undefined
    }

    if (signal?.aborted) {
      reject(abortedError(provider, signal.reason))
      return
    }
    signal?.addEventListener('abort', onAbort, { once: true })
    wait(idleMs)
    send(inner.signal).then((response) => {
      stream = streamOf(response)
      // Whatever ends the exchange destroys the stream, whose error then has nobody else to go to.
      stream.on('error', (cause) => settle(() => resolve(enough ? { how: 'whole' } : { how: 'broken', cause })))
      if (settled) {
        stream.destroy()
        return
      }
      timer?.refresh()
      stream.on('data', (bytes: Uint8Array) => {
        if (settled) return
        if (!enough) timer?.refresh()
        try {
          if (!read(bytes) || enough) return
        } catch (error) {
          fail(error)
          return
        }
        enough = true
        wait(graceMs)
      })
      stream.once('end', () => settle(() => resolve({ how: 'whole' }), true))
      stream.once('close', () => settle(() => resolve({ how: 'broken', cause: new Error('The connection was closed') })))
    }, fail)
  })
}

function streamOf(response: Response): Readable {
  if (response instanceof NodeResponse) return response.stream
  const body: unknown = response.body
  // Other `fetch` implementations have a Node stream for a body.
  if (body instanceof Readable) return body
  return response.body === null ? Readable.from([]) : Readable.fromWeb(response.body)
}
