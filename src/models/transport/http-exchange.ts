import { InvalidOptionError, type ModelError } from '../../core/errors.ts'
import { jsonOrText } from '../../core/json.ts'
import { wellFormedJson } from '../../core/messages.ts'
import { abortedError } from '../chat-model.ts'
import { accessError, connectionError, providerError, responseError } from '../errors/provider-error.ts'
import { ResponseBody, type ResponseReader } from '../streaming/response-body.ts'
import type { Receiver, Send } from './send.ts'

export interface ExchangeOptions {
  reader: ResponseReader
  provider: string
  /** The caller's signal. */
  signal: AbortSignal | undefined
  /**
   * Maximum time without any data from the server, in milliseconds, counted from the start of the request. `Infinity` disables the limit.
   */
  idleMs: number
  /** Maximum time without a part of the response once it has started, in milliseconds. `Infinity` disables the limit. */
  stallMs: number
  send: Send
  /** Texts that errors must not quote. The exchange adds the keys in the request's headers. */
  secrets: string[]
}

/** Maximum time to wait for the end of a body once its reader needs no more data, in milliseconds. */
const graceMs = 250
const longestTimerMs = 2 ** 31 - 1
/** Maximum time to read the body of an error response, in milliseconds. */
const errorBodyMs = 5000
/** Maximum number of bytes to read from the body of an error response. */
const mostErrorBytes = 1 << 20

/**
 * One request that an SDK makes with `fetch`, subject to the caller's signal and an idle timer. The response goes to a reader as it
 * arrives. Once the exchange has settled, no listener or timer is left. A body that the reader no longer needs may stay open for a moment,
 * so that its connection can be reused.
 */
export class HttpExchange implements Receiver {
  /**
   * Passes the exchange to `fetch` through the SDK's request options. Cleared once the exchange has settled, because an SDK may keep these
   * options in memory for a long time.
   */
  readonly carrier: { exchange: HttpExchange | undefined } = { exchange: this }
  readonly #options: ExchangeOptions
  readonly #body: ResponseBody
  readonly #outcome = Promise.withResolvers<string[]>()
  readonly #onAbort = (): void => this.#reject(abortedError(this.#options.provider, this.#options.signal?.reason))
  readonly #warnings: string[] = []
  #timer: NodeJS.Timeout | undefined
  #stallTimer: NodeJS.Timeout | undefined
  /** The promise that `fetch` has returned to the SDK. */
  #answer: PromiseWithResolvers<Response> | undefined
  #abortRequest: (() => void) | undefined
  #isAborted = false
  #settled = false
  /** Whether a response without an error status has arrived. */
  #isAnswered = false
  /** A response with an error status, whose body is arriving. */
  #refusal: { status: number; headers: Headers; pieces: Uint8Array[]; length: number } | undefined
  /** The error that explains why there is no response. */
  #failure: Error | undefined

  constructor(options: ExchangeOptions) {
    this.#options = options
    this.#body = new ResponseBody(options.reader)
  }

  /**
   * Calls `ask`, which makes an SDK send the request. Resolves with warnings when the response is complete. Rejects with the reader's
   * error, the provider's error, or the reason why the SDK did not send the request. Other errors have the code `aborted`,
   * `connection_failed`, `stream_idle` or `stream_cut` (the response never finished).
   */
  run(ask: () => Promise<unknown>): Promise<string[]> {
    const { signal, idleMs } = this.#options
    if (signal?.aborted) this.#onAbort()
    else {
      signal?.addEventListener('abort', this.#onAbort, { once: true })
      if (idleMs <= longestTimerMs) this.#timer = setTimeout(() => this.#settle('silent'), idleMs)
      ask().then(
        () => this.#onAsked(undefined),
        (error: unknown) => this.#onAsked(error),
      )
    }
    return this.#outcome.promise
  }

  /** Adds a warning to the result of `run`. */
  warn(warning: string): void {
    this.#warnings.push(warning)
  }

  /**
   * The `fetch` for the SDK. Resolves with an empty response, because the exchange reads the body itself. Error responses are returned
   * unchanged.
   */
  fetch(url: string | URL | Request, { headers: given, body }: RequestInit = {}): Promise<Response> {
    this.#answer = Promise.withResolvers()
    if (this.#isAborted) this.#abort()
    else {
      this.#timer?.refresh()
      const headers = [...(given instanceof Headers ? given : new Headers(given))]
      this.#options.secrets.push(...secretsIn(headers))
      try {
        this.#abortRequest = this.#options.send({ url: String(url), headers, body: withWholeCharacters(String(body)) }, this)
      } catch (error) {
        this.onFailure(error)
      }
    }
    return this.#answer.promise
  }

  onStart(status: number, headers: () => Headers): void {
    if (this.#settled) return
    const { idleMs, stallMs } = this.#options
    if (status >= 200 && status <= 299) {
      this.#isAnswered = true
      this.#timer?.refresh()
      if (stallMs <= longestTimerMs) this.#stallTimer = setTimeout(() => this.#settle('stalled'), stallMs)
      this.#answer?.resolve(accepted())
    } else {
      this.#refusal = { status, headers: headers(), pieces: [], length: 0 }
      clearTimeout(this.#timer)
      this.#timer = setTimeout(() => this.#refuse(), Math.min(errorBodyMs, idleMs))
    }
  }

  onBytes(bytes: Uint8Array): void {
    if (this.#settled) return
    if (this.#refusal === undefined) this.#take(bytes)
    else {
      this.#refusal.pieces.push(bytes)
      this.#refusal.length += bytes.length
      if (this.#refusal.length > mostErrorBytes) this.#refuse()
    }
  }

  onEnd(): void {
    if (this.#refusal !== undefined) this.#refuse()
    else this.#settle('whole')
    clearTimeout(this.#timer)
  }

  onFailure(error: unknown): void {
    if (this.#refusal !== undefined) this.#refuse()
    else if (this.#isAnswered) this.#settle('broken', error)
    else {
      this.#failure = error instanceof InvalidOptionError ? error : connectionError(error, this.#options.reader.context())
      this.#answer?.reject(error)
    }
    clearTimeout(this.#timer)
  }

  /** Called when the SDK's method has settled. Its outcome is ignored if a response has arrived, because the reader reads the response. */
  #onAsked(problem: unknown): void {
    if (this.#isAnswered) return
    const thrown = problem ?? new Error('Expected the SDK to make a request, got none')
    this.#reject(this.#failure ?? accessError(thrown, this.#options.reader.context()))
  }

  #take(bytes: Uint8Array): void {
    this.#timer?.refresh()
    const { parts } = this.#body
    try {
      const isDone = this.#body.push(bytes)
      if (this.#body.parts > parts) this.#stallTimer?.refresh()
      if (!isDone) return
    } catch (error) {
      this.#reject(error)
      return
    }
    this.#settle('whole')
    this.#timer = setTimeout(() => this.#abort(), graceMs)
  }

  /** Gives the SDK the error response, with the part of its body that has arrived. */
  #refuse(): void {
    if (this.#refusal === undefined || this.#failure !== undefined) return
    const { status, headers, pieces } = this.#refusal
    const text = Buffer.concat(pieces).toString()
    this.#failure = providerError({ status, headers, body: jsonOrText(text) }, this.#options.reader.context())
    this.#abortRequest?.()
    this.#answer?.resolve(new Response(text, { headers, status: status >= 400 && status <= 599 ? status : 500 }))
  }

  #reject(error: unknown): void {
    if (this.#release()) this.#outcome.reject(error)
    this.#abort()
  }

  #settle(how: 'whole' | 'silent' | 'stalled' | 'broken', cause?: unknown): void {
    if (!this.#release()) return
    if (how !== 'whole') this.#abort()
    const { reader } = this.#options
    try {
      if (how === 'whole') this.#body.end()
      if (!reader.hasFinished) throw this.#body.failure() ?? this.#unfinished(how, cause)
      if (how !== 'whole') this.warn('The connection did not end properly after the response was complete')
      this.#outcome.resolve(this.#warnings)
    } catch (error) {
      this.#outcome.reject(error)
    }
  }

  /** Aborts the request, and rejects the promise for which the SDK waits. */
  #abort(): void {
    this.#isAborted = true
    this.#abortRequest?.()
    this.#answer?.reject(abortedError(this.#options.provider))
  }

  /** Releases all resources. Returns false if the exchange had already settled. */
  #release(): boolean {
    if (this.#settled) return false
    this.#settled = true
    this.carrier.exchange = undefined
    clearTimeout(this.#timer)
    clearTimeout(this.#stallTimer)
    this.#options.signal?.removeEventListener('abort', this.#onAbort)
    return true
  }

  #unfinished(how: 'whole' | 'silent' | 'stalled' | 'broken', cause: unknown): ModelError {
    const expected = 'the rest of a response'
    const context = this.#options.reader.context()
    const before = context.partial === undefined ? 'before anything came' : 'after a part of it'
    if (how === 'silent') {
      return responseError('stream_idle', expected, `nothing for ${this.#options.idleMs} ms, ${before}`, context, { retryable: true })
    }
    if (how === 'stalled') {
      const got = `no part of one for ${this.#options.stallMs} ms, but comments, blank lines or pings, ${before}`
      return responseError('stream_idle', expected, got, context, { retryable: true })
    }
    if (how === 'broken') {
      return responseError('stream_cut', expected, `a broken connection ${before}`, context, { retryable: true, cause })
    }
    return responseError('stream_cut', expected, `its end without a finish reason, ${before}`, context, { retryable: true })
  }
}

/**
 * Returns the secrets in headers, which errors must not quote. Ignores values under 8 characters, because replacing them could hide
 * ordinary words.
 */
export function secretsIn(headers: Iterable<[name: string, value: string]>): string[] {
  const keys: string[] = []
  for (const [name, value] of headers) if (/auth|key|token|secret|cookie/i.test(name)) keys.push(value.replace(/^Bearer /i, ''))
  return keys.filter((key) => key.length >= 8)
}

/** Returns a body without lone surrogates, which `JSON.stringify` escapes. They may be in tools, schemas or `providerOptions`. */
function withWholeCharacters(body: string): string {
  return body.includes('\\ud') ? wellFormedJson(body) : body
}

let emptyResponse: Response | undefined

/** Returns an empty response for the SDK, because the exchange reads the real response itself. */
function accepted(): Response {
  emptyResponse ??= new Response()
  return emptyResponse
}
