import { createHash } from 'node:crypto'
import type { StoredOAuthClientInformation, StoredOAuthTokens } from '@modelcontextprotocol/client'
import { InvalidOptionError } from '../../../core/errors.ts'
import { isJsonObject } from '../../../core/messages.ts'
import type { McpAuth, McpTokenStore } from '../auth-options.ts'

/** The data that is stored for a server. */
export interface Credentials {
  tokens?: StoredOAuthTokens
  /** The registered clients, by authorization server. */
  clients?: Record<string, StoredOAuthClientInformation>
  /** The authorization server of the last sign-in. */
  issuer?: string
}

/** The credentials of one server in a store. Reads the credentials each time, because another process may have renewed them. */
export class KeptCredentials {
  readonly #store: McpTokenStore
  readonly #key: string

  constructor(store: McpTokenStore, server: URL, { clientId, account }: Pick<McpAuth, 'clientId' | 'account'> = {}) {
    this.#store = store
    this.#key = keyOf(server, clientId, account)
  }

  async read(): Promise<Credentials> {
    const text = await this.#store.load(this.#key)
    if (text === undefined) return {}
    try {
      const kept: unknown = JSON.parse(text)
      return isJsonObject(kept) ? (kept as Credentials) : {}
    } catch {
      return {} // Unreadable credentials count as missing: the user signs in again.
    }
  }

  /**
   * Runs `work` while nothing else changes these credentials, and settles like `work`. Rejects if the store's lock fails, or with the
   * signal's reason if the signal is aborted first.
   */
  async exclusively(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    let end: Promise<void> | undefined
    const once = () => {
      end ??= work()
      end.catch(() => {}) // If `lock` rejects first, nothing awaits `work`: its own error must not be an unhandled rejection.
      return end
    }
    await (this.#store.lock?.(this.#key, once, { signal }) ?? inTurn(this.#store, this.#key, signal, once))
    if (end === undefined) throw new InvalidOptionError('store.lock', 'a function that runs `work`', 'one that did not run it')
    await end
  }

  /** Removes the credentials. Resolves with false if there were none to remove. */
  async forget(): Promise<boolean> {
    const had = (await this.#store.load(this.#key)) !== undefined
    await this.#store.remove(this.#key)
    return had
  }

  async change(change: (kept: Credentials) => Credentials): Promise<void> {
    await this.#store.save(this.#key, JSON.stringify(change(await this.read())))
  }
}

/** The most recently started work for each key. Used only for stores without a lock. */
const lastWork = new WeakMap<McpTokenStore, Map<string, Promise<void>>>()

/** Runs `work` after all earlier work of this process for the same store and key. */
function inTurn(store: McpTokenStore, key: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  const ofStore = lastWork.get(store) ?? new Map<string, Promise<void>>()
  lastWork.set(store, ofStore)
  const mine = (ofStore.get(key) ?? Promise.resolve()).then(() => {
    signal.throwIfAborted()
    return work()
  })
  const settled = mine
    .catch(() => {})
    .then(() => {
      if (ofStore.get(key) === settled) ofStore.delete(key)
    })
  ofStore.set(key, settled)
  return mine
}

/** Returns the key for an address, client and account. The key is a hash, because the address may contain a secret. */
function keyOf({ origin, pathname, search }: URL, clientId?: string, account?: string): string {
  const whose = clientId === undefined && account === undefined ? '' : `\n${JSON.stringify([clientId ?? null, account ?? null])}`
  return createHash('sha256').update(`${origin}${pathname}${search}${whose}`).digest('hex')
}
