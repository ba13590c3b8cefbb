import type { Anthropic, ClientOptions } from '@anthropic-ai/sdk'
import { LeanTransport } from '../transport/lean-transport.ts'

/** The SDK's client on a lean way to the server. `fetch`: the caller's own, instead of node:http. */
export function leanAnthropic(Client: typeof Anthropic, options: ClientOptions, fetch: typeof globalThis.fetch | undefined): Anthropic {
  return new (class Anthropic extends Client {
    readonly #way = new LeanTransport<Awaited<ReturnType<BuildRequest>>>(fetch)

    override buildRequest(...[given, attempt]: Parameters<BuildRequest>): ReturnType<BuildRequest> {
      return this.#way.build(given, () => super.buildRequest(given, attempt))
    }

    override fetchWithTimeout(...[url, init]: Parameters<FetchWithTimeout>): Promise<Response> {
      return this.#way.send(url, init)
    }
  })(options)
}

type BuildRequest = Anthropic['buildRequest']
type FetchWithTimeout = Anthropic['fetchWithTimeout']
