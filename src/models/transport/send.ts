import { EventEmitter } from 'node:events'
import { Readable, type Transform } from 'node:stream'
import { Agent, Dispatcher, EnvHttpProxyAgent, errors, getGlobalDispatcher } from 'undici'
import { InvalidOptionError } from '../../core/errors.ts'
import { yieldNow } from '../../core/time/give-way.ts'

/** A POST request. */
interface Post {
  url: string
  headers: [name: string, value: string][]
  body: string
  signal: AbortSignal
}

/** A response whose body is still unread. */
interface Reply {
  status: number
  headers(): Headers
  body: Readable
}

/** Sends a request. Rejects if no response arrives, or if `signal` is aborted. */
export type Send = (post: Post) => Promise<Reply>

const mostRedirects = 20
/** The headers that another server gets after a redirect. Any other header may hold a key. */
const openHeaders = /^(accept|content-type|user-agent|anthropic-version|x-stainless-.*)$/
/** Errors from writing to a connection that its server has closed. */
const staleCodes = new Set<unknown>(['ECONNRESET', 'EPIPE'])
/**
 * A stale connection fails within this time, in milliseconds. A request that fails later may have been served, and a retry would be paid
 * twice.
 */
const staleMs = 1000

/** The most bytes of a redirect's body that are read to keep its connection. */
const mostRedirectBytes = 2 ** 14

/** The origins that have responded: a connection to them may be a reused one. */
const known = new Set<string>()

/** Sends with undici, or with the runtime's own `fetch` if undici is only a stub, as in Bun: https://bun.com/docs/runtime/nodejs-compat */
export const send: Send =
  typeof Dispatcher.prototype.request === 'function' ? sendOverUndici : sendOver((...request) => globalThis.fetch(...request))

/**
 * Follows redirects that ask for the same request (307, 308). Retries once, immediately, if the connection to a server
 * that has responded before is closed without a response.
 */
async function sendOverUndici({ signal, ...post }: Post): Promise<Reply> {
  let { headers } = post
  let url = urlOf(post.url)
  // The connection of a response that has just ended is free only after this turn. Otherwise undici would open another one.
  await yieldNow()
  for (let redirects = 0; ; redirects++) {
    const response = await sendTo(url, headers, post.body, signal)
    const { statusCode: status, body } = response
    const location = redirects < mostRedirects ? redirectOf(response, url) : null
    if (location === null) return { status, headers: () => headersOf(response), body: decoded(response) }
    body.dump({ limit: mostRedirectBytes, signal }).catch(() => {
      // The request was aborted.
    })
    if (url.protocol === 'https:' && location.protocol === 'http:')
      throw new InvalidOptionError('baseURL', 'a URL that does not redirect to an unencrypted one', location.origin)
    const isElsewhere = location.origin !== url.origin
    headers = headers.filter(([name]) => (isElsewhere ? openHeaders.test(name) : name !== 'host'))
    url = location
  }
}

/** Sends with a `fetch` of the application. */
export function sendOver(fetch: typeof globalThis.fetch): Send {
  return async ({ url, headers: sent, ...init }) => {
    const { status, headers, body } = await fetch(url, { method: 'POST', redirect: 'follow', headers: new Headers(sent), ...init })
    return { status, headers: () => headers, body: streamOf(body) }
  }
}

async function sendTo(url: URL, headers: Post['headers'], body: string, signal: AbortSignal): Promise<Dispatcher.ResponseData<unknown>> {
  const start = performance.now()
  let isServed = false
  const post = () =>
    // Not undici's `request`, because it passes on the option `dispatcher`, which the dispatcher of Node.js 26 refuses.
    Dispatcher.prototype.request.call(dispatcherFor(url), {
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: 'POST',
      headers: headers.flat(),
      body,
      signal,
      onInfo: () => {
        isServed = true
      },
      // The reader of the response decides how long to wait.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  const response = await post().catch((error: unknown) => {
    const isEarly = !isServed && performance.now() - start <= staleMs
    if (isEarly && !signal.aborted && isStale(error, url)) return post()
    throw error
  })
  known.add(url.origin)
  return response
}

/** Whether a request failed because its reused connection was closed. */
function isStale(error: unknown, { origin }: URL): boolean {
  if (error instanceof errors.SocketError) return (error.socket?.bytesRead ?? 0) > 0
  return error instanceof Error && 'code' in error && staleCodes.has(error.code) && known.has(origin)
}

function redirectOf({ statusCode, headers: { location } }: Dispatcher.ResponseData<unknown>, from: URL): URL | null {
  if ((statusCode !== 307 && statusCode !== 308) || typeof location !== 'string') return null
  const url = URL.parse(location, from.href)
  return url !== null && isAddress(url) ? url : null
}

function headersOf({ headers }: Dispatcher.ResponseData<unknown>): Headers {
  const all = new Headers()
  for (const [name, values] of Object.entries(headers)) for (const value of [values ?? []].flat()) all.append(name, value)
  return all
}

/** The decompressed body. */
function decoded({ headers, body }: Dispatcher.ResponseData<unknown>): Readable {
  const encoding = headers['content-encoding']
  const decoder = encoding === undefined ? undefined : decoderFor(String(encoding))
  if (decoder === undefined) return body
  body.on('error', (error) => decoder.destroy(error))
  decoder.once('close', () => body.destroy())
  return body.pipe(decoder)
}

/** Undefined for an unknown encoding. Requests don't ask for compression, which would delay the pieces of a stream. */
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
  // The body of another `fetch` implementation may be a Node stream, or its own kind of web stream.
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

/** Undefined before the first request; null if the environment has no proxies. */
let proxies: EnvHttpProxyAgent | null | undefined

/**
 * The undici dispatcher for requests to an address: the global one, as for `fetch`. If the application has not replaced that, the proxies
 * in `HTTP_PROXY` and `HTTPS_PROXY` are used, as set at the first request, but not for hosts in `NO_PROXY` and for this machine.
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
 * Whether the application has replaced the global dispatcher. Node's own dispatcher comes from another copy of undici and can't be told
 * from one that an application made with a third copy; neither counts.
 */
function isChosen(dispatcher: object): boolean {
  if (dispatcher instanceof Dispatcher)
    return Object.getPrototypeOf(dispatcher) !== Agent.prototype || dispatcher.dispatch !== Agent.prototype.dispatch
  return !(dispatcher instanceof EventEmitter)
}
