import type { ClientOptions, OpenAI } from 'openai'
import { fetchTarget, type NodeTarget, nodeTarget } from './http.ts'

/**
 * The SDK's client for a model's requests: all of them go to one address with the same headers, so both are worked out once, by the SDK,
 * and its own timers are left out, since ours cover the whole exchange. What is left costs a third of the SDK's own way.
 * `buildRequest` and `fetchWithTimeout` are the methods the SDK documents for subclasses. `fetch`: the caller's own, instead of node:http.
 */
export function leanOpenAI(Client: typeof OpenAI, options: ClientOptions, fetch: typeof globalThis.fetch | undefined): OpenAI {
  // The SDK takes the class's name for its user agent, so it keeps the name.
  return new (class OpenAI extends Client {
    #first: (Built & { path: string }) | undefined
    #target: NodeTarget | undefined

    override async buildRequest(...[given, attempt]: Parameters<BuildRequest>): Promise<Built> {
      const { path, body, signal } = given
      const first = this.#first
      if (first === undefined || first.path !== path || typeof body !== 'string') {
        const built = await super.buildRequest(given, attempt)
        if (typeof body === 'string') this.#first = { ...built, path }
        return built
      }
      const { url, timeout, req } = first
      return { url, timeout, req: { ...req, body, ...(signal ? { signal } : {}) } }
    }

    override async fetchWithTimeout(...[url, init]: Parameters<FetchWithTimeout>): Promise<Response> {
      const { method = 'POST', body, signal } = init ?? {}
      if (fetch !== undefined || typeof url !== 'string' || typeof body !== 'string') {
        return (fetch ?? globalThis.fetch)(url, { ...init, method: method.toUpperCase() })
      }
      if (this.#target?.url !== url) this.#target = nodeTarget(url, method, init?.headers)
      // An address node:http can't go to, such as one with a password in it.
      if (this.#target === undefined) return globalThis.fetch(url, { ...init, method: method.toUpperCase() })
      return fetchTarget(this.#target, body, signal ?? undefined)
    }
  })(options)
}

type BuildRequest = OpenAI['buildRequest']
type FetchWithTimeout = OpenAI['fetchWithTimeout']
type Built = Awaited<ReturnType<BuildRequest>>
