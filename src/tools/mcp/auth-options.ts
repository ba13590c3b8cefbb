import { InvalidOptionError } from '../../core/errors.ts'
import { checkOptionNames, type OptionNames } from '../../core/option-names.ts'

/** Where browsers are sent back to by default: on this machine. */
export const defaultRedirectUrl = 'http://127.0.0.1/callback'

/** A person is to sign in. */
export interface McpAuthorization {
  /** The server that is signed in to, by the name it was given here. */
  server: string
  /** What the person's browser is to open. It has no secret in it, but whoever opens it decides who signs in: show it to nobody else. */
  url: URL
  /** Aborted when nobody waits for it any more. */
  signal: AbortSignal
}

/** Where tokens and client registrations are kept. What is kept is one text for each server, and secret. */
export interface McpTokenStore {
  /** The text that was saved under a key; undefined: none. The key says nothing of what is kept. */
  load(key: string): string | undefined | Promise<string | undefined>
  save(key: string, text: string): void | Promise<void>
  remove(key: string): void | Promise<void>
  /**
   * Runs `work` while no other process runs any for the same key, and settles as `work` does. Needed if several processes share the store: many
   * authorization servers take a refresh token once, and sign everybody out if it is sent again. `work` loads the tokens, renews and saves them,
   * which takes a minute at most. Use a lock that is released when its process dies, such as an advisory lock of PostgreSQL. Reject once `signal`
   * is aborted if the lock is not yet held. Default: `work` has this process's calls wait for each other.
   */
  lock?(key: string, work: () => Promise<void>, options: { signal: AbortSignal }): Promise<void>
}

/**
 * How to sign in to a server with OAuth 2.1 (https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization). Where is found out from
 * the server; without a `clientId` the client is known by its `clientMetadataUrl`, or registers itself.
 */
export interface McpAuth {
  /** The client as the authorization server knows it, if it was registered there beforehand. */
  clientId?: string
  /** Its secret, if it has one. */
  clientSecret?: string
  /** Signs in place of a secret: a private key in PEM, and its algorithm, such as `ES256`. Only for `client_credentials`. */
  privateKey?: { pem: string; algorithm: string }
  /** Https address of the document that describes this client, for authorization servers that take one (CIMD). */
  clientMetadataUrl?: string
  /**
   * Whose sign-in it is, where several accounts use servers at one address: each has tokens of its own. Any name. Default: one for each `clientId`.
   */
  account?: string
  /** What people are told they sign in with. Default `toolloop`. */
  clientName?: string
  /** `client_credentials`: the program signs in for itself, and nobody is asked. Default `authorization_code`. */
  grant?: 'authorization_code' | 'client_credentials'
  /** What to ask for, separated by spaces. Default: what the server says it needs. */
  scope?: string
  /** The only authorization server to sign in at. Default: whichever the server names. */
  issuer?: string
  /** Where browsers are sent back to. Default `http://127.0.0.1/callback`, for which `authorize` is given the port by `toolloop mcp login`. */
  redirectUrl?: string | URL
  /**
   * Has a person sign in, and resolves with the address that their browser was sent back to: `redirectUrl` with a query. Rejects when they don't.
   * Default: nobody is asked; the tokens that are kept are used, and renewed, until somebody signs in with `toolloop mcp login`.
   */
  authorize?: (authorization: McpAuthorization) => Promise<string | URL>
  /** Default: files for their owner alone, in `~/.toolloop/mcp`. */
  store?: McpTokenStore
  /**
   * Whether addresses that the server names may be of private networks: all, none, or ranges such as `10.1.0.0/16`. Default: those of a server that is
   * itself at such an address, written as a number, or at `localhost`.
   */
  allowPrivateAddresses?: boolean | readonly string[]
}

const optionNames: OptionNames<McpAuth> = {
  clientId: true,
  clientSecret: true,
  privateKey: true,
  clientMetadataUrl: true,
  account: true,
  clientName: true,
  grant: true,
  scope: true,
  issuer: true,
  redirectUrl: true,
  authorize: true,
  store: true,
  allowPrivateAddresses: true,
}

/** Throws `invalid_option`. No secret is quoted. */
export function checkAuth(auth: McpAuth, at: string): void {
  const expect = (holds: boolean, key: string, expected: string) => {
    if (!holds) throw new InvalidOptionError(`${at}.${key}`, expected, 'another value')
  }
  if (typeof auth !== 'object' || auth === null) throw new InvalidOptionError(at, 'a mapping', auth)
  checkOptionNames(auth, optionNames, 'the `auth` of an MCP server', at)
  const {
    clientId,
    clientSecret,
    privateKey,
    clientMetadataUrl,
    clientName,
    account,
    grant,
    scope,
    issuer,
    redirectUrl,
    authorize,
    store,
  } = auth
  for (const [key, value] of Object.entries({ clientId, clientSecret, clientName, account, scope, issuer })) {
    expect(value === undefined || (typeof value === 'string' && value !== ''), key, 'a text')
  }
  expect(
    grant === undefined || grant === 'authorization_code' || grant === 'client_credentials',
    'grant',
    "'authorization_code' or 'client_credentials'",
  )
  expect(clientSecret === undefined || clientId !== undefined, 'clientId', 'the client that has the secret')
  expect(grant !== 'client_credentials' || clientId !== undefined, 'clientId', 'the client that signs in')
  const isKey = typeof privateKey?.pem === 'string' && typeof privateKey.algorithm === 'string'
  expect(
    privateKey === undefined || (isKey && grant === 'client_credentials'),
    'privateKey',
    'a `pem` and an `algorithm`, for `client_credentials`',
  )
  const isDocument =
    clientMetadataUrl === undefined || (URL.canParse(clientMetadataUrl) && new URL(clientMetadataUrl).protocol === 'https:')
  expect(isDocument, 'clientMetadataUrl', 'an https URL')
  expect(redirectUrl === undefined || URL.canParse(String(redirectUrl)), 'redirectUrl', 'a URL')
  expect(authorize === undefined || typeof authorize === 'function', 'authorize', 'a function')
  const isStore = store === undefined || [store.load, store.save, store.remove].every((method) => typeof method === 'function')
  expect(isStore, 'store', 'an object with `load`, `save` and `remove`')
  expect(store?.lock === undefined || typeof store.lock === 'function', 'store.lock', 'a function')
}
