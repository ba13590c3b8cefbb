import type { Dispatcher } from 'undici'

/** How long an idle connection is kept for the next request, in milliseconds, unless its server asks for less. */
export const keepAliveTimeout: number = 30_000
/** Where undici 8 puts the global dispatcher, as Node 26 has it: the older place then has a wrapper, for those who know undici 7. */
const newerSlot = Symbol.for('undici.globalDispatcher.2')

/** What requests to an address go over; undefined: a connection of ours. */
export type SetDispatcher = (url: URL) => Dispatcher | Promise<Dispatcher> | undefined

let usesProxy: boolean | undefined
let proxied: Promise<Dispatcher> | undefined

/**
 * What is set for the whole process: the application's dispatcher, which is the `global` one, and which Node sets itself with
 * `NODE_USE_ENV_PROXY`; else the proxy in `HTTP_PROXY` or `HTTPS_PROXY`, as they are at the first request, except to those in `NO_PROXY` and to
 * this machine; else nothing.
 */
export function findDispatcher(global: unknown): SetDispatcher | undefined {
  if (isDispatcher(global) && !isPlain(global)) return () => global
  usesProxy ??= hasProxy()
  if (!usesProxy) return undefined
  return ({ hostname }) => {
    if (isThisMachine(hostname)) return undefined
    proxied ??= import('./proxy-agent.ts').then(({ proxyAgent }) => proxyAgent({ keepAliveTimeout }))
    return proxied
  }
}

function hasProxy({ http_proxy, HTTP_PROXY, https_proxy, HTTPS_PROXY } = process.env): boolean {
  return Boolean(http_proxy || HTTP_PROXY || https_proxy || HTTPS_PROXY)
}

function isThisMachine(hostname: string): boolean {
  return /^(.+\.)?localhost$|^127\.|^\[::1\]$/.test(hostname)
}

/** Whether it is what Node or undici sets where nobody has set anything: an `Agent` itself, without options, factory or interceptors. */
function isPlain(dispatcher: Dispatcher): boolean {
  if (dispatcher.constructor.name === 'Dispatcher1Wrapper') {
    const wrapped: unknown = Reflect.get(globalThis, newerSlot)
    return isDispatcher(wrapped) && isPlain(wrapped)
  }
  // An interceptor stands before its own `dispatch`.
  const own: object = Object.getPrototypeOf(dispatcher)
  const base: unknown = Object.getPrototypeOf(own)?.constructor?.name
  if (own.constructor.name !== 'Agent' || base !== 'DispatcherBase' || dispatcher.dispatch !== Reflect.get(own, 'dispatch')) return false
  const factory = hidden(dispatcher, 'factory')
  if (typeof factory !== 'function' || factory.name !== 'defaultFactory') return false
  const options = hidden(dispatcher, 'options')
  if (typeof options !== 'object' || options === null) return false
  return Object.values(options).every((option) => option === undefined || option === Number.POSITIVE_INFINITY)
}

/** What an object has under a symbol of undici's, of whichever copy. */
function hidden(object: object, name: string): unknown {
  const field = Object.getOwnPropertySymbols(object).find(({ description }) => description === name)
  return field && Reflect.get(object, field)
}

function isDispatcher(value: unknown): value is Dispatcher {
  return typeof value === 'object' && value !== null && 'dispatch' in value && typeof value.dispatch === 'function'
}
