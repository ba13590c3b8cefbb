import { InvalidOptionError, type ModelError } from '../../core/errors.ts'
import { jsonOrText } from '../../core/json.ts'
import { keepShape } from '../../core/v8/keep-shape.ts'
import { abortedError } from '../chat-model.ts'
import { ResponseBody, type ResponseReader } from '../streaming/response-body.ts'
import { connectionError, providerError, requestError, responseError } from './provider-error.ts'
import type { Address, Receiver, Send } from './send.ts'

export interface ExchangeOptions {
  reader: ResponseReader
  provider: string
  /** The caller's signal. */
  signal: AbortSignal | undefined
  /** Longest silence, from the request on, in milliseconds; `Infinity` waits for ever. */
  idleMs: number
  send: Send
}

/** An answer that is no response: an HTTP error. */
interface Refusal {
  status: number
  headers: Pick<Headers, 'get'>
  pieces: Uint8Array[]
  length: number
}

/** How long a body may take to end after its reader has all it needs, in milliseconds. */
const graceMs = 250
const longestTimerMs = 2 ** 31 - 1
/** How long an error's body is read at most, in milliseconds: its status is known. */
const errorBodyMs = 5000
/** Longest part of an error's body that is read, in bytes. */
const mostErrorBytes = 1 << 20

/**
 * One HTTP request and its response, fed piece by piece to a reader, under the caller's signal and an idle timer. When it has settled no
 * listener, timer or open body is left, but for a body whose reader needs no more of it: nobody waits for that one's end, which leaves the
 * connection to the next request.
 */
export class HttpExchange implements Receiver {
  readonly #options: ExchangeOptions
  readonly #body: ResponseBody
  readonly #outcome = Promise.withResolvers<string[]>()
  readonly #onAbort = (): void => this.#reject(abortedError(this.#options.provider, this.#options.signal?.reason))
  #timer: NodeJS.Timeout | undefined
  #stop: (() => void) | undefined
  #settled = false
  #hasBegun = false
  #refusal: Refusal | undefined

  constructor(options: ExchangeOptions) {
    this.#options = options
    this.#body = new ResponseBody(options.reader)
  }

  /**
   * Sends `body`, when its address is known. Resolves with warnings. Rejects with what the address or the reader rejects with, or with a
   * `ModelError`: `aborted`, `connection_failed`, what the provider refused it with, `stream_idle`, or `stream_cut` for a response that never
   * finished.
   */
  run(address: Address | Promise<Address>, body: string): Promise<string[]> {
    const { signal, idleMs } = this.#options
    if (signal?.aborted) this.#onAbort()
    else {
      signal?.addEventListener('abort', this.#onAbort, { once: true })
      // It is also what keeps the process alive: a connection doesn't.
      this.#timer = idleMs > longestTimerMs ? setInterval(() => {}, longestTimerMs) : setTimeout(() => this.#settle('silent'), idleMs)
    }
    if (!(address instanceof Promise)) this.#send(address, body)
    else {
      address.then(
        (found) => this.#send(found, body),
        (error: unknown) => this.#reject(error),
      )
    }
    return this.#outcome.promise
  }

  begin(status: number, headers: Pick<Headers, 'get'>): void {
    if (this.#settled) return
    this.#hasBegun = true
    this.#timer?.refresh()
    if (status >= 200 && status <= 299) return
    this.#refusal = { status, headers, pieces: [], length: 0 }
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#settle('broken'), Math.min(errorBodyMs, this.#options.idleMs))
  }

  take(bytes: Uint8Array): void {
    if (this.#settled) return
    if (this.#refusal !== undefined) {
      this.#refusal.pieces.push(bytes)
      this.#refusal.length += bytes.length
      if (this.#refusal.length > mostErrorBytes) this.#settle('broken')
      return
    }
    this.#timer?.refresh()
    try {
      if (!this.#body.push(bytes)) return
    } catch (error) {
      this.#reject(error)
      return
    }
    this.#settle('whole')
    this.#timer = setTimeout(() => this.#stop?.(), graceMs)
    // A process that has nothing else to do need not wait for it either.
    this.#timer.unref()
  }

  end(): void {
    this.#stop = undefined
    // The one that waits for the end, if it has settled before.
    clearTimeout(this.#timer)
    this.#settle('whole')
  }

  fail(cause: unknown): void {
    clearTimeout(this.#timer)
    if (cause instanceof InvalidOptionError) this.#reject(cause)
    else this.#settle('broken', cause)
  }

  #send(address: Address, body: string): void {
    if (this.#settled) return
    try {
      this.#stop = this.#options.send(address, body, this)
    } catch (error) {
      this.#reject(requestError(error, this.#options.reader.context()))
    }
  }

  #reject(error: unknown): void {
    if (this.#release()) this.#outcome.reject(error)
    this.#stop?.()
  }

  #settle(how: 'whole' | 'silent' | 'broken', cause?: unknown): void {
    if (!this.#release()) return
    if (how !== 'whole') this.#stop?.()
    const { reader } = this.#options
    try {
      if (this.#refusal !== undefined) throw this.#refused(this.#refusal)
      if (how === 'whole') this.#body.end()
      if (!reader.hasFinished) throw this.#body.failure() ?? this.#unfinished(how, cause)
      this.#outcome.resolve(how === 'whole' ? [] : ['The connection did not end properly after the response was complete'])
    } catch (error) {
      this.#outcome.reject(error)
    }
  }

  /** False when it had settled before. */
  #release(): boolean {
    if (this.#settled) return false
    this.#settled = true
    clearTimeout(this.#timer)
    this.#options.signal?.removeEventListener('abort', this.#onAbort)
    return true
  }

  #refused({ status, headers, pieces }: Refusal): ModelError {
    return providerError({ status, headers, body: jsonOrText(Buffer.concat(pieces).toString()) }, this.#options.reader.context())
  }

  #unfinished(how: 'whole' | 'silent' | 'broken', cause: unknown): ModelError {
    const expected = 'the rest of a response'
    const context = this.#options.reader.context()
    if (how === 'broken' && !this.#hasBegun) return connectionError(cause, context)
    const before = context.partial === undefined ? 'before anything came' : 'after a part of it'
    if (how === 'silent') {
      return responseError('stream_idle', expected, `nothing for ${this.#options.idleMs} ms, ${before}`, context, { retryable: true })
    }
    if (how === 'broken') {
      return responseError('stream_cut', expected, `a broken connection ${before}`, context, { retryable: true, cause })
    }
    return responseError('stream_cut', expected, `its end without a finish reason, ${before}`, context, { retryable: true })
  }
}

keepShape(HttpExchange, {})
