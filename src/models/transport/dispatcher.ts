import { EventEmitter } from 'node:events'
import { Agent, Dispatcher, EnvHttpProxyAgent, getGlobalDispatcher } from 'undici'

/** Undefined before the first request; null if the environment has no proxies. */
let proxies: EnvHttpProxyAgent | null | undefined

/**
 * The undici dispatcher for requests to an address: the global one, as for `fetch`. If the application has not replaced that, the proxies
 * in `HTTP_PROXY` and `HTTPS_PROXY` are used, as set at the first request, but not for hosts in `NO_PROXY` and for this machine.
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
 * Whether the application has replaced the global dispatcher. Node's own dispatcher comes from another copy of undici and can't be told
 * from one that an application made with a third copy; neither counts.
 */
function isChosen(dispatcher: object): boolean {
  if (dispatcher instanceof Dispatcher)
    return Object.getPrototypeOf(dispatcher) !== Agent.prototype || dispatcher.dispatch !== Agent.prototype.dispatch
  return !(dispatcher instanceof EventEmitter)
}
