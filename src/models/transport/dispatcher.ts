import { EventEmitter } from 'node:events'
import { Agent, Dispatcher, EnvHttpProxyAgent, getGlobalDispatcher } from 'undici'

/** Undefined before the first request; null where the environment has no proxies. */
let proxies: EnvHttpProxyAgent | null | undefined

/**
 * The undici dispatcher that requests to an address go through: the global one, as with `fetch`. The proxies in `HTTP_PROXY` and
 * `HTTPS_PROXY`, as they are at the first request, take its place if the application has not chosen it, but not for hosts in `NO_PROXY` and
 * this machine.
 */
export function dispatcherFor({ hostname }: URL): Dispatcher {
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
 * Whether an application has set it to send requests in another way than directly. Node's own dispatcher is made by another copy of undici
 * and can't be told from one that an application has made with another copy: neither counts.
 */
function isChosen(dispatcher: object): boolean {
  if (dispatcher instanceof Dispatcher)
    return Object.getPrototypeOf(dispatcher) !== Agent.prototype || dispatcher.dispatch !== Agent.prototype.dispatch
  return !(dispatcher instanceof EventEmitter)
}
