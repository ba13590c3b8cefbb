import type { ClientOptions, OpenAI } from 'openai'
import { LeanTransport } from '../transport/lean-transport.ts'

/** The SDK's client on a lean way to the server. `fetch`: the caller's own, instead of node:http. */
export function leanOpenAI(Client: typeof OpenAI, options: ClientOptions, fetch: typeof globalThis.fetch | undefined): OpenAI {
  // The SDK takes the class's name for its user agent, so it keeps the name.
  return new (class OpenAI extends Client {
    readonly #way = new LeanTransport<Awaited<ReturnType<BuildRequest>>>(fetch)

    override buildRequest(...[given, attempt]: Parameters<BuildRequest>): ReturnType<BuildRequest> {
      return this.#way.build(given, () => super.buildRequest(given, attempt))
    }

    override fetchWithTimeout(...[url, init]: Parameters<FetchWithTimeout>): Promise<Response> {
      return this.#way.send(url, init)
    }
  })(options)
}

type BuildRequest = OpenAI['buildRequest']
type FetchWithTimeout = OpenAI['fetchWithTimeout']
