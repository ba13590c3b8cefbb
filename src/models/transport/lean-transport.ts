import { hasGlobalDispatcher } from './global-dispatcher.ts'
import { fetchFollowing, type NodeTarget, nodeTarget } from './http.ts'

/** What the SDKs make of a request, and what of it differs from one request to the next. */
interface Built {
  url: string
  timeout: number
  req: { body?: unknown; signal?: AbortSignal | null }
}
interface Given {
  path: string
  body?: unknown
  signal?: AbortSignal | null | undefined
}

/**
 * Takes the place of an SDK's own way to the server for a model's requests: all of them go to one address with the same headers, so both
 * are worked out once, by the SDK, and its own timers are left out, since ours cover the whole exchange. What is left costs a third of
 * the SDK's own way. Its two methods stand in for `buildRequest` and `fetchWithTimeout`, which the SDKs document for subclasses.
 */
export class LeanTransport<Sent extends Built> {
  readonly #fetch: typeof globalThis.fetch | undefined
  #first: (Sent & { path: string }) | undefined
  #target: NodeTarget | undefined

  /** `fetch`: the caller's own, instead of node:http. */
  constructor(fetch: typeof globalThis.fetch | undefined) {
    this.#fetch = fetch
  }

  /** `build`: the SDK's own way. */
  async build({ path, body, signal }: Given, build: () => Promise<Sent>): Promise<Sent> {
    const first = this.#first
    if (first === undefined || first.path !== path || typeof body !== 'string') {
      const built = await build()
      if (typeof body === 'string') this.#first = { ...built, path }
      return built
    }
    return { ...first, req: { ...first.req, body, ...(signal ? { signal } : {}) } }
  }

  async send(url: string | URL | Request, init: RequestInit = {}): Promise<Response> {
    const { method = 'POST', body, signal } = init
    const fetch = this.#fetch ?? globalThis.fetch
    const plain = { ...init, method: method.toUpperCase() }
    const isOurs = this.#fetch === undefined && !hasGlobalDispatcher()
    if (!isOurs || typeof url !== 'string' || typeof body !== 'string') return fetch(url, plain)
    if (this.#target?.url !== url) this.#target = nodeTarget(url, method, init.headers)
    // An address node:http can't go to, such as one with a password in it.
    if (this.#target === undefined) return fetch(url, plain)
    return fetchFollowing(this.#target, body, signal ?? undefined)
  }
}
