import type { Dispatcher as AnyDispatcher } from 'undici'
// For those who have a proxy. CommonJS: imported dynamically themselves, these have no names in a bundle of esbuild.
import connect from 'undici/lib/api/api-connect.js'
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js'
import EnvHttpProxyAgent from 'undici/lib/dispatcher/env-http-proxy-agent.js'

/** Sends over the proxy that the environment names. */
export function proxyAgent(options: EnvHttpProxyAgent.Options): AnyDispatcher {
  // undici's entry does so, which is not loaded here. A proxy's tunnels are made by it.
  Dispatcher.prototype.connect ??= connect
  return new EnvHttpProxyAgent(options)
}
