import { createHash } from 'node:crypto'
import type { StoredOAuthClientInformation, StoredOAuthTokens } from '@modelcontextprotocol/client'
import { isJsonObject } from '../../../core/messages.ts'
import type { McpTokenStore } from './auth-options.ts'

/** What is kept for a server. */
export interface Credentials {
  tokens?: StoredOAuthTokens
  /** The client as it was registered, by authorization server. */
  clients?: Record<string, StoredOAuthClientInformation>
  /** The authorization server that was signed in at. */
  issuer?: string
}

/** The credentials of one server in a store. They are read anew each time: another process may have renewed them. */
export class KeptCredentials {
  readonly #store: McpTokenStore
  readonly #key: string

  constructor(store: McpTokenStore, server: URL) {
    this.#store = store
    this.#key = keyOf(server)
  }

  async read(): Promise<Credentials> {
    const text = await this.#store.load(this.#key)
    if (text === undefined) return {}
    try {
      const kept: unknown = JSON.parse(text)
      return isJsonObject(kept) ? (kept as Credentials) : {}
    } catch {
      return {} // Not ours, or cut: whoever it belongs to signs in again.
    }
  }

  /** Removes them. Resolves with whether there were any. */
  async forget(): Promise<boolean> {
    const had = (await this.#store.load(this.#key)) !== undefined
    await this.#store.remove(this.#key)
    return had
  }

  async change(change: (kept: Credentials) => Credentials): Promise<void> {
    await this.#store.save(this.#key, JSON.stringify(change(await this.read())))
  }
}

/** The same for the same address. The address itself may have a key in it. */
function keyOf({ origin, pathname, search }: URL): string {
  return createHash('sha256').update(`${origin}${pathname}${search}`).digest('hex')
}
