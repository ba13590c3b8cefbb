import type { GenerateContentConfig, GoogleGenAI } from '@google/genai'
import { LeanTransport } from '../transport/lean-transport.ts'

/** Where the SDK would send a request, and with which headers. */
interface Address {
  url: string
  headers: [string, string][]
}

/** Neither calls nor a response's limits are the SDK's to act on. */
const noLoops: GenerateContentConfig = { automaticFunctionCalling: { disable: true }, automaticContinuation: false }

/** Where requests of one kind go: sends a body of ours there. */
export interface Way {
  /** Resolves and rejects as `fetch` does. */
  send(body: string, signal: AbortSignal): Promise<Response>
}

/** In place of a key, where there is none to send. */
export const noKey = 'none'

/**
 * The SDK's way to the server without its reading and copying of requests and responses: it is asked for a request to the model, over a
 * `fetch` that sends nothing, and what it made of it (address, API version, credentials) is what our own body is sent with. With a key it
 * is asked once for each kind of request; without one each time, for tokens expire. `HttpOptions.fetch` is the SDK's documented hook.
 */
export class LeanGoogle {
  readonly #sdk: GoogleGenAI
  readonly #model: string
  readonly #hasKey: boolean
  readonly #fetch: typeof globalThis.fetch | undefined
  readonly #known = new Map<boolean, { address: Address; way: Way }>()

  /** `fetch`: the caller's own, instead of node:http. */
  constructor(sdk: GoogleGenAI, model: string, hasKey: boolean, fetch: typeof globalThis.fetch | undefined) {
    this.#sdk = sdk
    this.#model = model
    this.#hasKey = hasKey
    this.#fetch = fetch
  }

  /** Rejects with what the SDK rejects with where it finds no credentials. */
  async findWay(stream: boolean): Promise<Way> {
    const known = this.#known.get(stream)
    if (known !== undefined && this.#hasKey) return known.way
    const address = await this.#findAddress(stream)
    if (known !== undefined && sameAddress(known.address, address)) return known.way
    const { url, headers } = address
    const transport = new LeanTransport<never>(this.#fetch)
    const way: Way = { send: (body, signal) => transport.send(url, { method: 'POST', headers, body, signal }) }
    this.#known.set(stream, { address, way })
    return way
  }

  async #findAddress(stream: boolean): Promise<Address> {
    let address: Address | undefined
    const fetch = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
      const headers = [...new Headers(init?.headers)].filter(([name, value]) => name !== 'x-goog-api-key' || value !== noKey)
      address = { url: String(url), headers }
      return Response.json({})
    }
    const request = { model: this.#model, contents: 'x', config: { ...noLoops, httpOptions: { fetch } } }
    await (stream ? this.#sdk.models.generateContentStream(request) : this.#sdk.models.generateContent(request))
    if (address === undefined) throw new Error('Expected the SDK to make a request, got none')
    return address
  }
}

function sameAddress(a: Address, b: Address): boolean {
  return a.url === b.url && String(a.headers) === String(b.headers)
}
