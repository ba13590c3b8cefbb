import type { Agent, IncomingMessage, RequestOptions } from 'node:http'
import type { Readable } from 'node:stream'
import { hasGlobalDispatcher } from './global-dispatcher.ts'

/** How long an idle connection is kept for the next request, in milliseconds. It keeps no process alive. */
const keepAliveMs = 30_000

/** A response's headers, read-only as every `fetch` has them, over what Node has parsed already. */
class NodeHeaders implements Headers {
  readonly #headers: IncomingMessage['headers']

  constructor(headers: IncomingMessage['headers']) {
    this.#headers = headers
  }

  get(name: string): string | null {
    const value = this.#headers[name.toLowerCase()]
    return Array.isArray(value) ? value.join(', ') : (value ?? null)
  }

  has(name: string): boolean {
    return this.#headers[name.toLowerCase()] !== undefined
  }

  getSetCookie(): string[] {
    return this.#headers['set-cookie'] ?? []
  }

  *entries(): Generator<[string, string], undefined> {
    for (const [name, value] of Object.entries(this.#headers)) {
      for (const one of Array.isArray(value) ? value : [value ?? '']) yield [name, one]
    }
  }

  *keys(): Generator<string, undefined> {
    for (const [name] of this.entries()) yield name
  }

  *values(): Generator<string, undefined> {
    for (const [, value] of this.entries()) yield value
  }

  [Symbol.iterator](): Generator<[string, string], undefined> {
    return this.entries()
  }

  forEach(visit: (value: string, name: string, headers: Headers) => void): void {
    for (const [name, value] of this.entries()) visit(value, name, this)
  }

  append(): never {
    throw new TypeError("A response's headers are read-only")
  }

  set(): never {
    return this.append()
  }

  delete(): never {
    return this.append()
  }
}

/**
 * A response whose body is read as a Node stream: `stream`, decompressed. `body` makes a web stream of it for code that wants one.
 * Its body can be read once, by any one of its methods.
 */
export class NodeResponse implements Response {
  readonly status: number
  readonly statusText: string
  readonly url: string
  readonly headers: Headers
  readonly stream: Readable
  readonly redirected = false
  readonly type = 'basic'
  #body: ReadableStream<Uint8Array<ArrayBuffer>> | undefined
  #used = false
  readonly #message: IncomingMessage

  constructor(message: IncomingMessage, stream: Readable, url: string) {
    this.#message = message
    this.status = message.statusCode ?? 0
    this.statusText = message.statusMessage ?? ''
    this.url = url
    this.stream = stream
    // Not the built-in class: filling one costs more than the rest of a small response.
    this.headers = new NodeHeaders(message.headers)
  }

  /** Keeps no process alive any longer. The next request on the same connection does again. */
  unref(): void {
    // There is none any more where the message had ended before what is unpacked of it was read.
    const socket: IncomingMessage['socket'] | null = this.#message.socket
    socket?.unref()
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300
  }

  get body(): Response['body'] {
    this.#body ??= lazyBody(this.stream)
    return this.#body
  }

  get bodyUsed(): boolean {
    return this.#used || (this.#body?.locked ?? false)
  }

  async #whole(): Promise<Buffer<ArrayBuffer>> {
    if (this.bodyUsed) throw new TypeError('Expected a body that was not read yet, got one that was')
    this.#used = true
    const chunks: Buffer[] = []
    for await (const chunk of this.stream) chunks.push(Buffer.from(chunk))
    return Buffer.concat(chunks)
  }

  async text(): Promise<string> {
    return new TextDecoder().decode(await this.#whole())
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text())
  }

  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return new Uint8Array(await this.#whole())
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return (await this.bytes()).buffer
  }

  async blob(): Promise<Blob> {
    return new Blob([await this.#whole()], { type: this.headers.get('content-type') ?? '' })
  }

  async formData(): Promise<FormData> {
    return new Response(await this.#whole(), { headers: [...this.headers] }).formData()
  }

  clone(): Response {
    throw new TypeError('A response read as a Node stream can be read only once, so it has no clone')
  }
}

/**
 * A web stream that takes nothing off the Node stream before it is read itself: a client that only looks at a response's `body` would
 * otherwise have it pulled from under whoever reads `stream`.
 */
function lazyBody(stream: Readable): ReadableStream<Uint8Array<ArrayBuffer>> {
  let chunks: AsyncIterator<Uint8Array> | undefined
  const source = {
    async pull(controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>) {
      chunks ??= stream[Symbol.asyncIterator]()
      const { done, value } = await chunks.next()
      if (done) controller.close()
      else controller.enqueue(new Uint8Array(value))
    },
    cancel: () => void stream.destroy(),
  }
  return new ReadableStream(source, { highWaterMark: 0 })
}

/**
 * `fetch` over `node:http`: cheaper than the built-in one for each request and each piece of a stream, which is what keeps a turn as cheap
 * as a hand-written loop. Takes what API clients send: a text or bytes as body, headers, a signal. Anything else (forms, streams,
 * `Request` objects, dispatchers, redirects, proxies) is handed to the built-in `fetch`. Connections are kept open for the next request.
 * Rejects with the signal's reason when aborted, else with Node's own error; its `code` says why.
 */
export const nodeFetch: typeof globalThis.fetch = async (input, init) => {
  const body = init?.body ?? undefined
  const isPlainBody = body === undefined || typeof body === 'string' || body instanceof Uint8Array
  const isPlainInput = typeof input === 'string' || input instanceof URL
  const isPlain = isPlainInput && isPlainBody && !('dispatcher' in (init ?? {})) && !hasGlobalDispatcher()
  const target = isPlain ? nodeTarget(input, init?.method, init?.headers) : undefined
  if (target === undefined || !isPlainBody) return globalThis.fetch(input, init)
  const response = await fetchTarget(target, body, init?.signal ?? undefined)
  if (!isRedirect(response) || init?.redirect === 'manual') return response
  response.stream.destroy()
  return globalThis.fetch(input, init)
}

/** Where a request goes and what it says of itself: what is the same for every request of a kind, worked out once. */
export interface NodeTarget {
  url: string
  /** Without a content length. */
  options: RequestOptions & { headers: string[] }
}

/** Undefined for an address that only the built-in `fetch` can deal with. */
export function nodeTarget(input: string | URL, method = 'GET', headers?: RequestInit['headers']): NodeTarget | undefined {
  const url = typeof input === 'string' ? URL.parse(input) : input
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return undefined
  const { protocol, hostname, port, pathname, search, host, href } = url
  const options = {
    protocol,
    // An IPv6 address stands in brackets in a URL, but not in an address.
    hostname: hostname.startsWith('[') ? hostname.slice(1, -1) : hostname,
    port,
    path: `${pathname}${search}`,
    method: method.toUpperCase(),
    headers: rawHeaders(host, headers),
    agent: agentFor(protocol),
  }
  return { url: href, options }
}

/** One request over `node:http`. Redirects are not followed. Rejects as `nodeFetch` does. */
export async function fetchTarget(
  { url, options }: NodeTarget,
  body: string | Uint8Array | undefined,
  signal: AbortSignal | undefined,
): Promise<NodeResponse> {
  const headers = body === undefined ? options.headers : [...options.headers, 'content-length', String(Buffer.byteLength(body))]
  let message: IncomingMessage
  try {
    message = await request({ ...options, headers }, body, signal)
  } catch (error) {
    // The server had closed the idle connection: https://nodejs.org/api/http.html#requestreusedsocket
    if (!(error instanceof StaleConnection)) throw error
    message = await request({ ...options, headers, agent: false }, body, signal)
  }
  return new NodeResponse(message, decoded(message), url)
}

/** A connection that was open from an earlier request turned out to be closed before anything came back. */
class StaleConnection extends Error {}

function request(
  options: RequestOptions,
  body: string | Uint8Array | undefined,
  signal: AbortSignal | undefined,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const sent = transportOf(options.protocol ?? '').request(options)
    let response: IncomingMessage | undefined
    const abort = () => (response ?? sent).destroy(reasonOf(signal))
    signal?.addEventListener('abort', abort, { once: true })
    // Comes last for every request, whichever way it ends, and after the response's own end.
    sent.once('close', () => signal?.removeEventListener('abort', abort))
    sent.on('error', (error: NodeJS.ErrnoException) => {
      const isStale = sent.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE') && !signal?.aborted
      reject(isStale ? new StaleConnection(error.message, { cause: error }) : error)
    })
    sent.once('response', (message) => {
      response = message
      resolve(message)
    })
    sent.end(body)
  })
}

const transports = new Map<string, Pick<typeof import('node:http'), 'request' | 'Agent'>>()
function transportOf(protocol: string): Pick<typeof import('node:http'), 'request' | 'Agent'> {
  let transport = transports.get(protocol)
  if (transport === undefined) {
    transport = process.getBuiltinModule(protocol === 'https:' ? 'node:https' : 'node:http')
    transports.set(protocol, transport)
  }
  return transport
}

const agents = new Map<string, Agent>()
function agentFor(protocol: string): Agent {
  let agent = agents.get(protocol)
  if (agent === undefined) {
    const { Agent } = transportOf(protocol)
    agent = new Agent({ keepAlive: true, timeout: keepAliveMs })
    agents.set(protocol, agent)
  }
  return agent
}

/** Names and values in turn: Node writes such a list as it is, and checks and copies anything else once more. */
function rawHeaders(host: string, headers: RequestInit['headers']): string[] {
  const raw: string[] = []
  let hasHost = false
  for (const [name, value] of headers instanceof Headers ? headers : new Headers(headers)) {
    hasHost ||= name === 'host'
    if (name !== 'content-length') raw.push(name, value)
  }
  if (!hasHost) raw.push('host', host)
  return raw
}

const mostRedirects = 20
const secretHeaders = /auth|key|token|secret|cookie/i

/**
 * `fetchTarget`, which goes on to where the server says the same request is to be made (307, 308); another server is not sent the
 * headers that hold keys. Other redirects ask for a request without a body, so they are left to the caller.
 */
export async function fetchFollowing(target: NodeTarget, body: string, signal: AbortSignal | undefined): Promise<NodeResponse> {
  for (let redirects = 0, at = target; ; redirects++) {
    const response = await fetchTarget(at, body, signal)
    const next = [307, 308].includes(response.status) && redirects < mostRedirects ? redirected(at, response) : undefined
    if (next === undefined) return response
    response.stream.destroy()
    at = next
  }
}

function redirected({ url, options }: NodeTarget, { headers }: NodeResponse): NodeTarget | undefined {
  const from = new URL(url)
  const to = URL.parse(headers.get('location') ?? '', url)
  // Without a location the address is its own, which would be asked again and again.
  if (to === null || !headers.has('location')) return undefined
  const kept = new Headers()
  for (let at = 0; at < options.headers.length; at += 2) {
    const [name = '', value = ''] = options.headers.slice(at, at + 2)
    if (name !== 'host' && (to.origin === from.origin || !secretHeaders.test(name))) kept.append(name, value)
  }
  return nodeTarget(to, options.method, kept)
}

function isRedirect({ status, headers }: NodeResponse): boolean {
  return [301, 302, 303, 307, 308].includes(status) && headers.has('location')
}

function reasonOf(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason
  return reason instanceof Error ? reason : new DOMException('The request was aborted', 'AbortError')
}

/** The body as it was before the server compressed it. Nothing is asked to be compressed: it would delay a stream's pieces. */
function decoded(message: IncomingMessage): Readable {
  const encoding = message.headers['content-encoding']?.trim().toLowerCase() ?? ''
  if (encoding === '' || encoding === 'identity') return message
  const zlib = process.getBuiltinModule('node:zlib')
  const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH, ZSTD_e_flush } = zlib.constants
  const makers: Record<string, () => Readable & NodeJS.WritableStream> = {
    gzip: () => zlib.createGunzip({ flush: Z_SYNC_FLUSH, finishFlush: Z_SYNC_FLUSH }),
    'x-gzip': () => zlib.createGunzip({ flush: Z_SYNC_FLUSH, finishFlush: Z_SYNC_FLUSH }),
    deflate: () => zlib.createInflate({ flush: Z_SYNC_FLUSH, finishFlush: Z_SYNC_FLUSH }),
    br: () => zlib.createBrotliDecompress({ flush: BROTLI_OPERATION_FLUSH, finishFlush: BROTLI_OPERATION_FLUSH }),
    zstd: () => zlib.createZstdDecompress({ flush: ZSTD_e_flush, finishFlush: ZSTD_e_flush }),
  }
  const decoder = makers[encoding]?.()
  if (decoder === undefined) return message
  // Both ends are destroyed together; the error is the reader's, which reads the decoder.
  process.getBuiltinModule('node:stream').pipeline(message, decoder, () => {})
  return decoder
}
