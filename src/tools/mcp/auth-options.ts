import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import { InvalidOptionError } from '../../core/errors.ts'

export const defaultRedirectUrl = 'http://127.0.0.1/callback'

/** A sign-in for which a user is needed. */
export interface McpAuthorization {
  /** The name under which the server was configured. */
  server: string
  /**
   * The address to open in the user's browser. It contains no secret, but show it only to the user: if another person opens it,
   * that person's account is signed in.
   */
  url: URL
  /** Aborted when the sign-in is no longer needed. */
  signal: AbortSignal
}

/**
 * Stores the tokens and client registrations of each server as one text. The text is secret.
 *
 * Contract: all methods may be async and are awaited. If one throws, the request that needs the token fails.
 */
export interface McpTokenStore {
  /** Returns the text that was saved under a key, or undefined. The key is a hash. */
  load(key: string): string | undefined | Promise<string | undefined>
  save(key: string, text: string): void | Promise<void>
  remove(key: string): void | Promise<void>
  /**
   * Runs `work` under a lock on `key` that all processes share, and settles like `work`. Needed if several processes share the store: many
   * authorization servers revoke all tokens if a refresh token is sent twice. `work` loads, renews and saves the tokens within a minute.
   * Use a lock that is released if its process dies, such as an advisory lock of PostgreSQL. Reject if `signal` is aborted before the lock
   * is held. Default: calls within this process take turns.
   */
  lock?(key: string, work: () => Promise<void>, options: { signal: AbortSignal }): Promise<void>
}

/**
 * How to sign in to a server with OAuth 2.1 (https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization). The server's
 * metadata says where to sign in. Without a `clientId`, the client identifies itself by its `clientMetadataUrl`, or registers itself.
 */
export interface McpAuth {
  /** The client id, if the client was registered with the authorization server beforehand. */
  clientId?: string
  /** The client secret, if the client has one. */
  clientSecret?: string
  /**
   * A private key to use instead of a secret. `pem`: the key. `algorithm`: its algorithm, such as `ES256`. Used only with
   * `client_credentials`.
   */
  privateKey?: { pem: string; algorithm: string }
  /** The https address of a document that describes this client, for authorization servers that support it (CIMD). */
  clientMetadataUrl?: string
  /**
   * A name of your choice for the account that signs in. Set it if several accounts use the same server. Each account has its own tokens.
   * Default: one account per `clientId`.
   */
  account?: string
  /** The name of the application that users see when they sign in. Default `toolloop`. */
  clientName?: string
  /** `client_credentials`: the application signs in by itself, without a user. Default `authorization_code`. */
  grant?: 'authorization_code' | 'client_credentials'
  /** The scopes to request, separated by spaces. Default: the scopes that the server says it needs. */
  scope?: string
  /** The only authorization server that may be used. Default: the authorization server that the MCP server names. */
  issuer?: string
  /** The redirect address. Default `http://127.0.0.1/callback`; `toolloop mcp login` then uses any free port. */
  redirectUrl?: string | URL
  /**
   * Asks a user to sign in. Resolves with the address to which the browser was redirected: `redirectUrl` with a query. Default: nobody is
   * asked. Stored tokens are used and renewed. To get tokens, sign in with `toolloop mcp login`.
   *
   * Contract: the function is awaited. If it rejects, the sign-in fails, and the user is not asked again.
   */
  authorize?: (authorization: McpAuthorization) => Promise<string | URL>
  /** The store for tokens. Default: files in `~/.toolloop/mcp` that only their owner can read. */
  store?: McpTokenStore
  /**
   * The private addresses that sign-in may request: all (`true`), none (`false`), or ranges such as `10.1.0.0/16`. Default: all if the
   * server's own address is `localhost` or a private IP address, otherwise none.
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

/** Checks the options. Throws `invalid_option`, with a message that contains no secret. */
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
