import type { InsufficientScopeError, StoredOAuthTokens } from '@modelcontextprotocol/client'
import { messageOf, ToolloopError } from '../../../core/errors.ts'
import type { Logger } from '../../../core/logger.ts'
import { redactText } from '../../../core/redaction/redact.ts'
import { withoutPage } from '../../../core/text/html-page.ts'
import { defaultRedirectUrl, type McpAuth } from '../auth-options.ts'
import type { McpClientSdk } from '../sdk/load-sdk.ts'
import { withSdkWarnings } from '../sdk/sdk-warnings.ts'
import { untilAborted, within } from '../within.ts'
import { KeptCredentials } from './credentials.ts'
import { mcpTokenFiles } from './file-store.ts'
import { type Fetch, guardedFetch } from './guarded-fetch.ts'
import { OAuthClient } from './oauth-client.ts'

/** The requirements of a server that has refused a request. */
interface Challenge {
  scope?: string | undefined
  resourceMetadataUrl?: URL | undefined
  /** Whether to get a new token even if the current token could be renewed. */
  force?: boolean
}

type AuthOptions = Parameters<McpClientSdk['auth']>[1]

/** Returns the requirements for the new token, given the current tokens. */
type Answer = (tokens: StoredOAuthTokens | undefined) => Challenge

interface SignInContext {
  /** Aborted when the server is closed. */
  closing: AbortSignal
  logger: Logger
}

/** How long to wait for other processes or requests that are renewing the same tokens, in milliseconds. */
const lockTimeoutMs = 60_000
/** How long a renewal may continue after the server is closed, in milliseconds. */
const farewellMs = 1_000

/**
 * Signs in to one server. If several requests or processes need a new token at the same time, only one of them renews it. Many
 * authorization servers revoke all tokens if a refresh token is used twice.
 */
export class SignIn {
  readonly #sdk: McpClientSdk
  readonly #server: { name: string; url: URL }
  readonly #auth: McpAuth
  readonly #kept: KeptCredentials
  readonly #closing: AbortSignal
  readonly #logger: Logger
  readonly #fetch: Fetch
  /** Aborts requests to authorization servers. Aborted later than `closing`, so that the new refresh token can still be saved. */
  readonly #leaving = new AbortController()
  #turn: Promise<void> = Promise.resolve()
  #renewal: Promise<void> = Promise.resolve()
  /** The error of a sign-in that the user refused or did not finish. Kept so that the user is not asked again. */
  #refused: ToolloopError | undefined

  constructor(sdk: McpClientSdk, server: { name: string; url: URL }, auth: McpAuth, { closing, logger }: SignInContext) {
    this.#sdk = sdk
    this.#logger = logger
    this.#server = server
    this.#auth = auth
    this.#kept = new KeptCredentials(auth.store ?? mcpTokenFiles(), server.url, auth)
    this.#closing = closing
    for (const secret of [auth.clientSecret, auth.privateKey?.pem]) if (secret !== undefined) this.secrets.add(secret)
    this.#fetch = guardedFetch(server.url, auth.allowPrivateAddresses, this.#leaving.signal)
  }

  /** Resolves once a renewal in progress has been saved or abandoned. Call it after `closing` is aborted. */
  async close(): Promise<void> {
    const timer = setTimeout(() => this.#leaving.abort(this.#closing.reason), farewellMs)
    await untilAborted(this.#renewal, this.#leaving.signal).catch(() => {})
    clearTimeout(timer)
    this.#leaving.abort(this.#closing.reason)
  }

  /** Tokens and secrets that must not occur in any log line or error. */
  readonly secrets: Set<string> = new Set()

  async token(): Promise<string | undefined> {
    return (await this.#read())?.access_token
  }

  /** Gets a new token after the server answered 401. Rejects with `mcp_sign_in_needed`, or with the server's error. */
  unauthorized(response: Response, sent: string | undefined): Promise<void> {
    const { scope, resourceMetadataUrl } = this.#sdk.extractWWWAuthenticateParams(response)
    return this.#inTurn(sent, () => ({ scope, resourceMetadataUrl }))
  }

  /** Gets a token with more permissions than the token that was sent. */
  stepUp({ requiredScope, resourceMetadataUrl }: InsufficientScopeError, sent: string | undefined): Promise<void> {
    return this.#inTurn(sent, (tokens) => {
      const scope = this.#sdk.computeScopeUnion(tokens?.scope, requiredScope)
      return { scope, resourceMetadataUrl, force: this.#sdk.isStrictScopeSuperset(scope, tokens?.scope) }
    })
  }

  async #read(): Promise<StoredOAuthTokens | undefined> {
    const { tokens, clients = {} } = await this.#kept.read()
    const ofClients = Object.values(clients).map((client) => client.client_secret)
    for (const secret of [tokens?.access_token, tokens?.refresh_token, ...ofClients]) if (secret !== undefined) this.secrets.add(secret)
    return tokens
  }

  #inTurn(sent: string | undefined, answer: Answer): Promise<void> {
    const mine = this.#turn.then(() => this.#signIn(sent, answer).catch((error: unknown) => this.#fail(error)))
    this.#turn = mine.catch(() => {})
    return mine
  }

  /**
   * Runs `work` while nothing else renews these tokens, and settles like `work`. The time limit applies only to waiting for other renewals.
   */
  async #exclusively(work: () => Promise<void>): Promise<void> {
    const late = () => new Error(`others have been renewing its tokens for more than ${lockTimeoutMs} ms`)
    const begun = Promise.withResolvers<void>()
    let end: Promise<void> = Promise.resolve()
    await within(lockTimeoutMs, late, [this.#closing], (limit) => {
      end = this.#kept.exclusively(limit, async () => {
        limit.throwIfAborted()
        begun.resolve()
        await work()
      })
      this.#renewal = end.catch(() => {})
      return untilAborted(Promise.race([begun.promise, end]), limit)
    })
    await end
  }

  async #signIn(sent: string | undefined, answer: Answer): Promise<void> {
    const { authorize } = this.#auth
    const client = new OAuthClient(this.#sdk, this.#auth, this.#kept)
    let options: AuthOptions | undefined
    await this.#exclusively(async () => {
      const tokens = await this.#read()
      // The token was renewed while this request was in flight, here or in another process.
      if (tokens !== undefined && tokens.access_token !== sent) return
      const asked = this.#options(answer(tokens), tokens)
      if ((await this.#authorize(client, asked)) !== 'AUTHORIZED') options = asked
    })
    if (options === undefined) return
    const { authorizationUrl } = client
    if (authorize === undefined || authorizationUrl === undefined) throw this.#needed()
    if (!/^https?:$/.test(authorizationUrl.protocol)) throw new ToolloopError('tool_denied', `${this.#what()} is not at a web address.`)
    const back = await this.#ask(authorize, authorizationUrl)
    if (back.get('state') !== client.state()) throw new ToolloopError('mcp_sign_in_needed', `${this.#what()} was answered from elsewhere.`)
    const code = back.get('code')
    if (code === null) throw this.#declined(back.get('error'))
    const iss = back.get('iss')
    const exchange = { ...options, authorizationCode: code, ...(iss === null ? {} : { iss }) }
    await this.#exclusively(async () => void (await this.#authorize(client, exchange)))
  }

  #authorize(client: OAuthClient, options: AuthOptions): ReturnType<McpClientSdk['auth']> {
    const { name: server } = this.#server
    const warn = (problem: string) => {
      this.#logger.warn({ server, problem: redactText(withoutPage(problem), [...this.secrets]) }, 'signing in to an MCP server failed')
    }
    return withSdkWarnings(warn, () => this.#sdk.auth(client, options))
  }

  /** Throws if sign-in requires a user, but no user can be asked. */
  #options({ scope: required, resourceMetadataUrl, force = false }: Challenge, tokens: StoredOAuthTokens | undefined): AuthOptions {
    const { authorize, grant, scope: own } = this.#auth
    if (this.#refused !== undefined) throw this.#refused
    const needsPerson = grant !== 'client_credentials' && (force || tokens?.refresh_token === undefined)
    if (needsPerson && authorize === undefined) throw this.#needed()
    const scope = this.#sdk.computeScopeUnion(own, required)
    return {
      serverUrl: this.#server.url,
      fetchFn: this.#fetch,
      forceReauthorization: force,
      scope,
      resourceMetadataUrl,
    }
  }

  async #ask(authorize: NonNullable<McpAuth['authorize']>, url: URL): Promise<URLSearchParams> {
    try {
      const back = await authorize({ server: this.#server.name, url, signal: this.#closing })
      return new URL(back, this.#auth.redirectUrl ?? defaultRedirectUrl).searchParams
    } catch (cause) {
      this.#refused = new ToolloopError('mcp_sign_in_needed', `${this.#what()} did not finish.`, { cause })
      throw this.#refused
    }
  }

  #fail(error: unknown): never {
    if (ToolloopError.isInstance(error) || this.#closing.aborted) throw error
    throw new ToolloopError('mcp_sign_in_needed', `${this.#what()} failed: ${messageOf(error)}`, { cause: error })
  }

  #declined(error: string | null): ToolloopError {
    // The error text is untrusted: any page can redirect the browser here.
    const code = error !== null && /^[a-z_]{1,40}$/.test(error) ? ` (${error})` : ''
    this.#refused = new ToolloopError('mcp_sign_in_needed', `${this.#what()} was refused${code}.`)
    return this.#refused
  }

  #needed(): ToolloopError {
    const { name } = this.#server
    return new ToolloopError('mcp_sign_in_needed', `Somebody has to sign in to the MCP server \`${name}\`: toolloop mcp login ${name}`)
  }

  #what(): string {
    return `The sign-in to the MCP server \`${this.#server.name}\``
  }
}
