import { Socket } from 'node:net'
import type { buildConnector, Dispatcher } from 'undici'
// One by one: the package's entry also loads its `fetch`, WebSockets, caches and mocks, and sets Node's global dispatcher.
import buildConnect from 'undici/lib/core/connect.js'
import Client from 'undici/lib/dispatcher/client.js'

/** How long an idle connection is kept for the next request, in milliseconds, unless its server asks for less. */
const keepAliveTimeout = 30_000
/** How many of them an origin may have. */
const mostIdle = 64
/** How long a connection may take to be made, its TLS included, in milliseconds. */
const connectTimeout = 10_000
/** Where Node's `fetch` looks for its dispatcher, and undici's `setGlobalDispatcher` puts one. */
const globalSlot = Symbol.for('undici.globalDispatcher.1')

let connect: buildConnector.connector | undefined
/** By origin; the one that was used last is the last. */
const idle = new Map<string, Connection[]>()

/**
 * A connection of ours, for one request at a time. It keeps no process alive: a request that waits for its response does, by its timer.
 * undici's own pool opens a second one for a request that comes as soon as the one before has its response, as they do in a tool loop.
 */
export class Connection extends Client {
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

let usesProxy: boolean | undefined
/** The global dispatcher that was last seen to be Node's own. */
let plainGlobal: unknown
let proxied: Promise<Dispatcher> | undefined

/**
 * What a request to `url` goes over: the dispatcher that the application has set for the whole process, which Node does itself with
 * `NODE_USE_ENV_PROXY`; else the proxy in `HTTP_PROXY` or `HTTPS_PROXY`, as they are at the first request, except to those in `NO_PROXY` and to this
 * machine; else a connection of ours. https://nodejs.org/api/globals.html#custom-dispatcher
 */
export function dispatcherFor(url: URL): Dispatcher | Promise<Dispatcher> {
  const set: unknown = Reflect.get(globalThis, globalSlot)
  if (isDispatcher(set) && set !== plainGlobal && !isPlain(set)) return set
  // Looked up once: reading the environment is slow.
  usesProxy ??= hasProxy()
  if (usesProxy && !isThisMachine(url.hostname)) {
    proxied ??= import('undici').then(({ EnvHttpProxyAgent }) => new EnvHttpProxyAgent({ keepAliveTimeout }))
    return proxied
  }
  return idle.get(url.origin)?.pop() ?? new Connection(url.origin)
}

function hasProxy({ http_proxy, HTTP_PROXY, https_proxy, HTTPS_PROXY } = process.env): boolean {
  return Boolean(http_proxy || HTTP_PROXY || https_proxy || HTTPS_PROXY)
}

function isThisMachine(hostname: string): boolean {
  return /^(.+\.)?localhost$|^127\.|^\[::1\]$/.test(hostname)
}

/** Whether it is what Node or undici sets where nobody has set anything: an `Agent` itself, without options, factory or interceptors. */
function isPlain(dispatcher: Dispatcher): boolean {
  // An interceptor stands before its own `dispatch`.
  const own: object = Object.getPrototypeOf(dispatcher)
  const base: unknown = Object.getPrototypeOf(own)?.constructor?.name
  if (own.constructor.name !== 'Agent' || base !== 'DispatcherBase' || dispatcher.dispatch !== Reflect.get(own, 'dispatch')) return false
  const factory = hidden(dispatcher, 'factory')
  if (typeof factory !== 'function' || factory.name !== 'defaultFactory') return false
  const options = hidden(dispatcher, 'options')
  if (typeof options !== 'object' || options === null) return false
  if (Object.values(options).some((option) => option !== undefined && option !== Number.POSITIVE_INFINITY)) return false
  plainGlobal = dispatcher
  return true
}

/** What an object has under a symbol of undici's, of whichever copy. */
function hidden(object: object, name: string): unknown {
  const field = Object.getOwnPropertySymbols(object).find(({ description }) => description === name)
  return field && Reflect.get(object, field)
}

function isDispatcher(value: unknown): value is Dispatcher {
  return typeof value === 'object' && value !== null && 'dispatch' in value && typeof value.dispatch === 'function'
}
