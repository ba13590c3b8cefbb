import { AsyncResource } from 'node:async_hooks'
import { EventEmitter } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import { Readable, type Transform } from 'node:stream'
import { Agent, Dispatcher, EnvHttpProxyAgent, errors, getGlobalDispatcher, util } from 'undici'
import { InvalidOptionError, readableError } from '../../core/errors.ts'
import { yieldNow } from '../../core/time/give-way.ts'

/** A POST request. */
interface Post {
  url: string
  headers: [name: string, value: string][]
  body: string
}

/**
 * Receives the response to a request.
 *
 * Contract: methods are called synchronously, in the async context of the request. The last call is `onEnd` or `onFailure`. If the request
 * is aborted, there may be no further call.
 */
export interface Receiver {
  onStart(status: number, headers: () => Headers): void
  onBytes(bytes: Uint8Array): void
  onEnd(): void
  /** Called if no response arrives, or if the response's body breaks off. */
  onFailure(error: unknown): void
}

/** Sends a request. Returns a function that aborts it and closes its connection. Throws `invalid_option` for an invalid address. */
export type Send = (post: Post, receiver: Receiver) => () => void

const mostRedirects = 20
/** The headers that are also sent to another server after a redirect. Any other header may contain a key. */
const openHeaders = /^(accept|content-type|user-agent|anthropic-version|x-stainless-.*)$/
/** Error codes of a request on a connection that the server has closed. */
const staleCodes = new Set<unknown>(['ECONNRESET', 'EPIPE'])
/**
 * A request on a closed connection fails within this time, in milliseconds. If it fails later, the server may have processed it, and a
 * retry would be billed again.
 */
const staleMs = 1000

/** Maximum number of bytes to read from the body of a redirect in order to keep its connection open. */
const mostRedirectBytes = 2 ** 14

/** The origins that have responded. Later requests to them may use an existing connection. */
const known = new Set<string>()

/** Sends with undici, or with the runtime's own `fetch` if undici is only a stub, as in Bun: https://bun.com/docs/runtime/nodejs-compat */
export const send: Send =
  typeof Dispatcher.prototype.request === 'function' ? sendOverUndici : sendOver((...request) => globalThis.fetch(...request))

function sendOverUndici(post: Post, receiver: Receiver): () => void {
  const context = new AsyncResource('ToolloopRequest')
  const request = new UndiciRequest(urlOf(post.url), post, inContext(context, receiver), context)
  // Waits for the next turn of the event loop. The connection of a response that has just ended can be reused only then.
  yieldNow().then(() => request.dispatch())
  return () => request.abort()
}

/**
 * Follows redirects with the status 307 or 308. Retries once, immediately, if the server had already closed the reused connection.
 *
 * Implements the handlers that all versions of undici accept, because the application's dispatcher may have any version.
 */
class UndiciRequest {
  readonly #url: URL
  readonly #post: Post
  readonly #receiver: Receiver
  readonly #context: AsyncResource
  readonly #redirects: number
  #sentAt = 0
  #isServed = false
  #isRetried = false
  #isAborted = false
  #stop: (() => void) | undefined
  #decoder: Transform | undefined
  /** The request that follows the redirect of this request. */
  #next: UndiciRequest | undefined
  #droppedBytes = 0

  constructor(url: URL, post: Post, receiver: Receiver, context: AsyncResource, redirects = 0) {
    this.#url = url
    this.#post = post
    this.#receiver = receiver
    this.#context = context
    this.#redirects = redirects
  }

  dispatch(): void {
    if (this.#isAborted) return
    this.#sentAt = performance.now()
    const { origin, pathname, search } = this.#url
    const { headers, body } = this.#post
    try {
      dispatcherFor(this.#url).dispatch(
        // undici's timeouts are turned off, because the reader of the response decides how long to wait.
        { origin, path: `${pathname}${search}`, method: 'POST', headers: headers.flat(), body, headersTimeout: 0, bodyTimeout: 0 },
        this,
      )
    } catch (error) {
      this.#receiver.onFailure(error)
    }
  }

  abort(): void {
    this.#isAborted = true
    this.#next?.abort()
    this.#decoder?.destroy()
    this.#stop?.()
  }

  onConnect(abort: () => void): void {
    this.#stop = abort
    if (this.#isAborted) abort()
  }

  onHeaders(status: number, raw: Buffer[], resume: () => void): boolean {
    if (status < 200) {
      this.#isServed = true
      return true
    }
    known.add(this.#url.origin)
    const headers = util.parseHeaders(raw)
    const location = this.#redirects < mostRedirects ? redirectOf(status, headers, this.#url) : null
    if (location === null) this.#start(status, headers, resume)
    else this.#follow(location)
    return true
  }

  onData(bytes: Buffer): boolean {
    if (this.#next !== undefined) {
      this.#droppedBytes += bytes.length
      if (this.#droppedBytes > mostRedirectBytes) this.#stop?.()
      return true
    }
    if (this.#decoder !== undefined) return this.#decoder.write(bytes)
    this.#receiver.onBytes(bytes)
    return true
  }

  onComplete(): void {
    if (this.#next !== undefined) return
    if (this.#decoder !== undefined) this.#decoder.end()
    else this.#receiver.onEnd()
  }

  onError(error: unknown): void {
    if (this.#next !== undefined || this.#isAborted) return
    this.#decoder?.destroy()
    if (!this.#isStale(error)) this.#receiver.onFailure(error)
    else {
      this.#isRetried = true
      this.#context.runInAsyncScope(() => this.dispatch())
    }
  }

  #start(status: number, headers: IncomingHttpHeaders, resume: () => void): void {
    this.#isServed = true
    const encoding = headers['content-encoding']
    const decoder = encoding === undefined ? undefined : decoderFor(String(encoding))
    if (decoder !== undefined) {
      this.#decoder = decoder
      decoder.on('data', (bytes: Buffer) => this.#receiver.onBytes(bytes))
      decoder.on('drain', resume)
      decoder.once('end', () => this.#receiver.onEnd())
      decoder.once('error', (error) => {
        // Reports the failure first, because `stop` causes another error.
        this.#receiver.onFailure(error)
        this.#stop?.()
      })
    }
    this.#receiver.onStart(status, () => headersOf(headers))
  }

  #follow(location: URL): void {
    if (this.#url.protocol === 'https:' && location.protocol === 'http:') {
      this.abort()
      this.#receiver.onFailure(new InvalidOptionError('baseURL', 'a URL that does not redirect to an unencrypted one', location.origin))
      return
    }
    const isElsewhere = location.origin !== this.#url.origin
    const headers = this.#post.headers.filter(([name]) => (isElsewhere ? openHeaders.test(name) : name !== 'host'))
    const next = new UndiciRequest(location, { ...this.#post, headers }, this.#receiver, this.#context, this.#redirects + 1)
    this.#next = next
    this.#context.runInAsyncScope(() => next.dispatch())
  }

  /** Whether to retry: the server had closed the reused connection, and this was the first attempt. */
  #isStale(error: unknown): boolean {
    if (this.#isRetried || this.#isServed || performance.now() - this.#sentAt > staleMs) return false
    if (error instanceof errors.SocketError) return (error.socket?.bytesRead ?? 0) > 0
    return error instanceof Error && 'code' in error && staleCodes.has(error.code) && known.has(this.#url.origin)
  }
}

/** Calls the receiver in the async context of the request. Undici itself calls its handlers in the context of the connection. */
function inContext(context: AsyncResource, receiver: Receiver): Receiver {
  return {
    onStart: (status, headers) => context.runInAsyncScope(() => receiver.onStart(status, headers)),
    onBytes: (bytes) => context.runInAsyncScope(() => receiver.onBytes(bytes)),
    onEnd: () => context.runInAsyncScope(() => receiver.onEnd()),
    onFailure: (error) => context.runInAsyncScope(() => receiver.onFailure(error)),
  }
}

export function sendOver(fetch: typeof globalThis.fetch): Send {
  return ({ url, headers, body }, receiver) => {
    const stop = new AbortController()
    const { signal } = stop
    let stream: Readable | undefined
    const receive = async (): Promise<void> => {
      const response = await fetch(url, { method: 'POST', redirect: 'follow', headers: new Headers(headers), body, signal })
      stream = streamOf(response.body)
      if (signal.aborted) stream.destroy()
      receiver.onStart(response.status, () => response.headers)
      for await (const bytes of stream) receiver.onBytes(bytes)
      receiver.onEnd()
    }
    receive().catch((error: unknown) => receiver.onFailure(readableError(error)))
    return () => {
      stop.abort()
      stream?.destroy()
    }
  }
}

function redirectOf(status: number, { location }: IncomingHttpHeaders, from: URL): URL | null {
  if ((status !== 307 && status !== 308) || typeof location !== 'string') return null
  const url = URL.parse(location, from.href)
  return url !== null && isAddress(url) ? url : null
}

function headersOf(headers: IncomingHttpHeaders): Headers {
  const all = new Headers()
  for (const [name, values] of Object.entries(headers)) for (const value of [values ?? []].flat()) all.append(name, value)
  return all
}

/** Undefined for an unknown encoding. Requests don't ask for compression, because it would delay the pieces of a stream. */
function decoderFor(encoding: string): Transform | undefined {
  const zlib = process.getBuiltinModule('node:zlib')
  const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH, ZSTD_e_flush } = zlib.constants
  switch (encoding.trim().toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
      return zlib.createGunzip({ flush: Z_SYNC_FLUSH, finishFlush: Z_SYNC_FLUSH })
    case 'deflate':
      return zlib.createInflate({ flush: Z_SYNC_FLUSH, finishFlush: Z_SYNC_FLUSH })
    case 'br':
      return zlib.createBrotliDecompress({ flush: BROTLI_OPERATION_FLUSH, finishFlush: BROTLI_OPERATION_FLUSH })
    case 'zstd':
      return zlib.createZstdDecompress({ flush: ZSTD_e_flush, finishFlush: ZSTD_e_flush })
    default:
      return undefined
  }
}

/** Throws `invalid_option` for a body that can't be read. */
function streamOf(body: unknown): Readable {
  if (body === null) return Readable.from([])
  // In other `fetch` implementations, the body may be a Node stream or another kind of web stream.
  if (body instanceof Readable) return body
  if (body instanceof ReadableStream && !body.locked) return Readable.fromWeb(body)
  if (isAsyncIterable(body) && !(body instanceof ReadableStream)) return Readable.from(body)
  throw new InvalidOptionError('fetch', 'a function whose response has a `body` that is null or an unread stream', body)
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

function urlOf(address: string): URL {
  const url = new URL(address)
  if (!isAddress(url)) throw new InvalidOptionError('baseURL', 'an http or https URL without a user name', url.origin)
  return url
}

function isAddress({ protocol, username, password }: URL): boolean {
  return /^https?:$/.test(protocol) && username === '' && password === ''
}

/** The dispatcher for proxies. Undefined before the first request; null if the environment has no proxies. */
let proxies: EnvHttpProxyAgent | null | undefined

/**
 * Returns the dispatcher for a request. Uses the proxies that `HTTP_PROXY` and `HTTPS_PROXY` contained at the first request, except for
 * hosts in `NO_PROXY` and the local machine. A global dispatcher that the application has set takes precedence.
 */
function dispatcherFor({ hostname }: URL): Dispatcher {
  const global = getGlobalDispatcher()
  if (proxies === undefined) proxies = hasProxy(process.env) ? new EnvHttpProxyAgent() : null
  return proxies === null || isThisMachine(hostname) || isChosen(global) ? global : proxies
}

function hasProxy({ http_proxy, HTTP_PROXY, https_proxy, HTTPS_PROXY }: NodeJS.ProcessEnv): boolean {
  return Boolean(http_proxy || HTTP_PROXY || https_proxy || HTTPS_PROXY)
}

function isThisMachine(hostname: string): boolean {
  return /^(.+\.)?localhost$|^127\.|^\[::1\]$/.test(hostname)
}

/**
 * Whether the application has replaced the global dispatcher. A dispatcher from another copy of undici does not count, because it could be
 * Node's own.
 */
function isChosen(dispatcher: object): boolean {
  if (dispatcher instanceof Dispatcher)
    return Object.getPrototypeOf(dispatcher) !== Agent.prototype || dispatcher.dispatch !== Agent.prototype.dispatch
  return !(dispatcher instanceof EventEmitter)
}
