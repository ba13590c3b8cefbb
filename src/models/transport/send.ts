import { Socket } from 'node:net'
import type { Transform } from 'node:stream'
import type { buildConnector, Dispatcher } from 'undici'
// One by one: the package's entry also loads its `fetch`, WebSockets, caches and mocks, and sets Node's global dispatcher.
import buildConnect from 'undici/lib/core/connect.js'
import Client from 'undici/lib/dispatcher/client.js'
import { InvalidOptionError } from '../../core/errors.ts'
import { keepShape } from '../../core/v8/keep-shape.ts'
import { decoderFor } from './decoder.ts'
import { findDispatcher, keepAliveTimeout, type SetDispatcher } from './dispatcher.ts'

/** Where requests go, and with which headers. One object for all that have the same: what it comes to is worked out once. */
export interface Address {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Posts `body` and returns a function that aborts it, after which the receiver is told nothing more. Throws for an address that can't be
 * asked.
 */
export type Send = (address: Address, body: string, receiver: Receiver) => () => void

/** Is told of an answer, synchronously, while it arrives. After `end` or `fail` nothing more comes. */
export interface Receiver {
  begin(status: number, headers: Pick<Headers, 'get'>): void
  /** Takes a piece of the body. */
  take(bytes: Uint8Array): void
  /** The body has ended. */
  end(): void
  /** There was no connection, or it broke. */
  fail(cause: unknown): void
}

/** An address as undici takes it. */
interface Target {
  url: URL
  origin: string
  path: string
  /** Names and values in turn. */
  headers: string[]
}

/** Where Node's `fetch` looks for its dispatcher, and undici's `setGlobalDispatcher` puts one: https://nodejs.org/api/globals.html#custom-dispatcher */
const globalSlot = Symbol.for('undici.globalDispatcher.1')
/** How long a compressed body may take to end behind its own end mark, in milliseconds. */
const graceMs = 250
const mostRedirects = 20
/** How many idle connections an origin may have: as many as runs that wait for it at once, or each of them opens a new one for each request. */
const mostIdle = 1_024
/** How long a connection may take to be made, its TLS included, in milliseconds. */
const connectTimeout = 10_000
/** All that another server is told: any other header may be a key. */
const openHeaders = /^(accept|content-type|user-agent|anthropic-version|x-stainless-.*)$/
/** What a request comes to when the idle connection it used turns out to be closed. */
const staleCodes = new Set<unknown>(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])
/** How soon that shows, in milliseconds. What breaks later may have been served, and would be served and paid twice. */
const staleMs = 1000

/**
 * Sends over undici. Redirects that ask for the same request (307, 308) are followed; another server is sent only the headers that describe
 * the request. A request is sent once more if its connection, idle before, turns out to be closed: at once, and before anything of the
 * answer has come.
 */
export const send: Send = (address, body, receiver) => {
  const hop = new Hop(targetOf(address), body, receiver, 0)
  hop.start()
  return () => hop.abort()
}

/** One way there and back: what undici tells of a request. Redirects and a second try are hops of their own. */
class Hop implements Dispatcher.DispatchHandler {
  readonly #target: Target
  readonly #body: string
  readonly #receiver: Receiver
  readonly #redirects: number
  #connection: Connection | undefined
  #next: Hop | undefined
  #abort: ((error: Error) => void) | undefined
  #decoder: Transform | undefined
  #isOver = false
  #hasAnswer = false
  #wasUsed = false
  #startedAt = 0

  constructor(target: Target, body: string, receiver: Receiver, redirects: number) {
    this.#target = target
    this.#body = body
    this.#receiver = receiver
    this.#redirects = redirects
  }

  start(dispatcher: Dispatcher | Promise<Dispatcher> = dispatcherFor(this.#target)): void {
    if (dispatcher instanceof Promise) dispatcher.then((loaded) => this.#dispatch(loaded)).catch((error: unknown) => this.onError(error))
    else this.#dispatch(dispatcher)
  }

  abort(): void {
    this.#next?.abort()
    this.#decoder?.destroy()
    if (this.#isOver) return
    this.#isOver = true
    this.#abort?.(new Error('The request was aborted'))
    this.#connection?.drop()
  }

  // undici has newer names for these. All its versions know the older ones, and an application's dispatcher may be of any version.

  onConnect(abort: (error?: Error) => void): void {
    this.#abort = abort
    this.#wasUsed = this.#connection?.isUsed ?? false
    this.#startedAt = performance.now()
    if (this.#isOver) abort(new Error('The request was aborted'))
  }

  /** The first byte of an answer has come. */
  onResponseStarted(): void {
    this.#hasAnswer = true
  }

  onHeaders(status: number, raw: readonly (Buffer | string)[], resume: () => void): boolean {
    this.#hasAnswer = true
    if (this.#isOver || status < 200) return true
    if (this.#connection !== undefined) this.#connection.isUsed = true
    const next = status === 307 || status === 308 ? this.#redirected(headerOf(raw, 'location')) : undefined
    if (next !== undefined) {
      this.abort()
      if (this.#target.url.protocol === 'https:' && next.url.protocol === 'http:') {
        this.#receiver.fail(new InvalidOptionError('baseURL', 'a URL that does not redirect to an unencrypted one', next.origin))
        return true
      }
      this.#next = new Hop(next, this.#body, this.#receiver, this.#redirects + 1)
      this.#next.start()
      return true
    }
    this.#receiver.begin(status, { get: (name) => headerOf(raw, name) })
    const encoding = headerOf(raw, 'content-encoding')
    if (encoding !== null) this.#decode(encoding, resume)
    return true
  }

  onData(bytes: Buffer): boolean {
    if (this.#isOver) return true
    if (this.#decoder === undefined) this.#receiver.take(bytes)
    else if (!this.#decoder.readableEnded && !this.#decoder.destroyed) return this.#decoder.write(bytes)
    return true
  }

  onComplete(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#connection?.release()
    if (this.#decoder === undefined) this.#receiver.end()
    else if (!this.#decoder.readableEnded) this.#decoder.end()
  }

  onError(error: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#decoder?.destroy()
    this.#connection?.drop()
    if (this.#isStale(error)) {
      this.#next = new Hop(this.#target, this.#body, this.#receiver, this.#redirects)
      this.#next.start(new Connection(this.#target.origin))
    } else this.#receiver.fail(error)
  }

  #isStale(error: unknown): boolean {
    if (!this.#wasUsed || this.#hasAnswer || performance.now() - this.#startedAt > staleMs) return false
    return error instanceof Error && 'code' in error && staleCodes.has(error.code)
  }

  #dispatch(dispatcher: Dispatcher): void {
    if (this.#isOver) return
    if (dispatcher instanceof Connection) this.#connection = dispatcher
    const { origin, path, headers } = this.#target
    try {
      // Silence is the receiver's to end.
      dispatcher.dispatch({ origin, path, method: 'POST', headers, body: this.#body, headersTimeout: 0, bodyTimeout: 0 }, this)
    } catch (error) {
      this.onError(error)
    }
  }

  #decode(encoding: string, resume: () => void): void {
    const decoder = decoderFor(encoding.trim().toLowerCase())
    if (decoder === undefined) return
    this.#decoder = decoder
    decoder.on('drain', resume)
    decoder.on('data', (bytes: Buffer) => this.#receiver.take(bytes))
    decoder.on('error', (error) => {
      this.abort()
      this.#receiver.fail(error)
    })
    decoder.once('end', () => {
      this.#receiver.end()
      if (!this.#isOver) setTimeout(() => this.abort(), graceMs).unref()
    })
  }

  #redirected(location: string | null): Target | undefined {
    const { url, headers } = this.#target
    const to = location === null || this.#redirects === mostRedirects ? null : URL.parse(location, url.href)
    if (to === null || !isAddress(to)) return undefined
    const isElsewhere = to.origin !== this.#target.origin
    const goesOn = (name: string) => (isElsewhere ? openHeaders.test(name) : name !== 'host')
    const kept = headers.filter((_, at) => goesOn(headers[at - (at % 2)] ?? ''))
    return target(to, kept)
  }
}

let connect: buildConnector.connector | undefined
/** By origin; the one that was used last is the last. */
const idle = new Map<string, Connection[]>()

/**
 * A connection of ours, for one request at a time. It keeps no process alive: a request that waits for its response does, by its timer.
 * undici's own pool opens a second one for a request that comes as soon as the one before has its response, as they do in a tool loop.
 */
class Connection extends Client {
  /** Whether a response has come over it since it was opened. */
  isUsed = false
  readonly #origin: string
  #opening: Socket | undefined

  constructor(origin: string) {
    // One for all, because it remembers TLS sessions.
    connect ??= buildConnect({ timeout: connectTimeout })
    const open = connect
    super(origin, {
      connect: (options, callback) => {
        // undici's own returns the socket at once, though its type doesn't say so.
        const opening: unknown = open(options, (...result) => {
          this.#opening = undefined
          callback(...result)
        })
        if (!(opening instanceof Socket)) return
        this.#opening = opening
        Object.assign(opening.unref(), { ref: () => opening })
      },
      keepAliveTimeout,
      keepAliveMaxTimeout: keepAliveTimeout,
    })
    this.#origin = origin
    this.on('connect', () => {
      this.isUsed = false
    })
    this.on('disconnect', () => this.#leave())
  }

  /** Keeps it for the next request, unless there are enough. */
  release(): void {
    const connections = idle.get(this.#origin)
    if (connections === undefined) idle.set(this.#origin, [this])
    else if (connections.length < mostIdle) connections.push(this)
    else this.drop()
  }

  /** Closes it, also while it is being opened, which undici itself would wait for. */
  drop(): void {
    void this.destroy()
    this.#opening?.destroy(new Error('The request was aborted'))
  }

  #leave(): void {
    const connections = idle.get(this.#origin) ?? []
    const at = connections.indexOf(this)
    if (at === -1) return
    connections.splice(at, 1)
    if (connections.length === 0) idle.delete(this.#origin)
    this.drop()
  }
}

let seen: { global: unknown; dispatcher: SetDispatcher | undefined } | undefined

/** What a request goes over: what the application or the environment has set, else a connection of ours. */
function dispatcherFor({ url, origin }: Target): Dispatcher | Promise<Dispatcher> {
  const global: unknown = Reflect.get(globalThis, globalSlot)
  if (seen === undefined || seen.global !== global) seen = { global, dispatcher: findDispatcher(global) }
  return seen.dispatcher?.(url) ?? idle.get(origin)?.pop() ?? new Connection(origin)
}

const targets = new WeakMap<Address, Target>()

function targetOf(address: Address): Target {
  const known = targets.get(address)
  if (known !== undefined) return known
  const url = new URL(address.url)
  if (!isAddress(url)) throw new TypeError('Expected an http or https URL without a user name')
  const made = target(url, Object.entries(address.headers).flat())
  targets.set(address, made)
  return made
}

function target(url: URL, headers: string[]): Target {
  return { url, origin: url.origin, path: `${url.pathname}${url.search}`, headers }
}

function isAddress({ protocol, username, password }: URL): boolean {
  return /^https?:$/.test(protocol) && username === '' && password === ''
}

/** The value of a header; `name` is in small letters. */
function headerOf(raw: readonly (Buffer | string)[], name: string): string | null {
  for (let at = 0; at < raw.length; at += 2) {
    if (raw[at]?.length === name.length && String(raw[at]).toLowerCase() === name) return String(raw[at + 1])
  }
  return null
}

keepShape(Hop)
