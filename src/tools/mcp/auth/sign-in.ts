import type { InsufficientScopeError, StoredOAuthTokens } from '@modelcontextprotocol/client'
import { messageOf, ToolloopError } from '../../../core/errors.ts'
import type { McpClientSdk } from '../transport/load-sdk.ts'
import { defaultRedirectUrl, type McpAuth } from './auth-options.ts'
import { KeptCredentials } from './credentials.ts'
import { mcpTokenFiles } from './file-store.ts'
import { type Fetch, guardedFetch } from './guarded-fetch.ts'
import { OAuthClient } from './oauth-client.ts'

/** What a server asks for when it refuses a request. */
interface Challenge {
  scope?: string | undefined
  resourceMetadataUrl?: URL | undefined
  /** A new token can't be had by renewing the one there is. */
  force?: boolean
}

/**
 * Signs in to one server. Of requests that are refused at the same time only the first signs in: what is renewed twice is lost with many
 * authorization servers.
 */
export class SignIn {
  readonly #sdk: McpClientSdk
  readonly #server: { name: string; url: URL }
  readonly #auth: McpAuth
  readonly #kept: KeptCredentials
  readonly #closing: AbortSignal
  readonly #fetch: Fetch
  #turn: Promise<void> = Promise.resolve()
  /** Whoever was asked has not signed in: nobody is asked again and again. */
  #refused: ToolloopError | undefined

  constructor(sdk: McpClientSdk, server: { name: string; url: URL }, auth: McpAuth, closing: AbortSignal) {
    this.#sdk = sdk
    this.#server = server
    this.#auth = auth
    this.#kept = new KeptCredentials(auth.store ?? mcpTokenFiles(), server.url, auth)
    this.#closing = closing
    for (const secret of [auth.clientSecret, auth.privateKey?.pem]) if (secret !== undefined) this.secrets.add(secret)
    this.#fetch = guardedFetch(server.url, auth.allowPrivateAddresses, closing)
  }

  /** Tokens and secrets that no log line and no error may quote. */
  readonly secrets: Set<string> = new Set()

  async token(): Promise<string | undefined> {
    return (await this.#read())?.access_token
  }

  /** Gets another token after one was refused, or none was sent. Rejects with `mcp_sign_in_needed`, or with what is wrong with the server. */
  unauthorized(response: Response, sent: string | undefined): Promise<void> {
    const { scope, resourceMetadataUrl } = this.#sdk.extractWWWAuthenticateParams(response)
    return this.#inTurn(sent, async () => this.#signIn({ scope, resourceMetadataUrl }))
  }

  /** Gets a token that may do more than the one that was sent. */
  stepUp({ requiredScope, resourceMetadataUrl }: InsufficientScopeError, sent: string | undefined): Promise<void> {
    return this.#inTurn(sent, async () => {
      const tokens = await this.#read()
      const scope = this.#sdk.computeScopeUnion(tokens?.scope, requiredScope)
      await this.#signIn({ scope, resourceMetadataUrl, force: this.#sdk.isStrictScopeSuperset(scope, tokens?.scope) })
    })
  }

  async #read(): Promise<StoredOAuthTokens | undefined> {
    const { tokens, clients = {} } = await this.#kept.read()
    const ofClients = Object.values(clients).map((client) => client.client_secret)
    for (const secret of [tokens?.access_token, tokens?.refresh_token, ...ofClients]) if (secret !== undefined) this.secrets.add(secret)
    return tokens
  }

  #inTurn(sent: string | undefined, work: () => Promise<void>): Promise<void> {
    const mine = this.#turn.then(async () => {
      // It was renewed while this request was on its way.
      const current = await this.token()
      if (current === undefined || current === sent) await work().catch((error: unknown) => this.#fail(error))
    })
    this.#turn = mine.catch(() => {})
    return mine
  }

  async #signIn({ scope: required, resourceMetadataUrl, force = false }: Challenge): Promise<void> {
    const { authorize, grant } = this.#auth
    if (this.#refused !== undefined) throw this.#refused
    const tokens = await this.#read()
    const needsPerson = grant !== 'client_credentials' && (force || tokens?.refresh_token === undefined)
    if (needsPerson && authorize === undefined) throw this.#needed()
    const client = new OAuthClient(this.#sdk, this.#auth, this.#kept)
    const scope = this.#sdk.computeScopeUnion(this.#auth.scope, required)
    const options = {
      serverUrl: this.#server.url,
      fetchFn: this.#fetch,
      forceReauthorization: force,
      ...(scope === undefined ? {} : { scope }),
      ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
    }
    if ((await this.#sdk.auth(client, options)) === 'AUTHORIZED') return
    const { authorizationUrl } = client
    if (authorize === undefined || authorizationUrl === undefined) throw this.#needed()
    if (!/^https?:$/.test(authorizationUrl.protocol)) throw new ToolloopError('tool_denied', `${this.#what()} is at no web address.`)
    const back = await this.#ask(authorize, authorizationUrl)
    if (back.get('state') !== client.state()) throw new ToolloopError('mcp_sign_in_needed', `${this.#what()} was answered from elsewhere.`)
    const code = back.get('code')
    if (code === null) throw this.#declined(back.get('error'))
    const iss = back.get('iss')
    await this.#sdk.auth(client, { ...options, authorizationCode: code, ...(iss === null ? {} : { iss }) })
  }

  async #ask(authorize: NonNullable<McpAuth['authorize']>, url: URL): Promise<URLSearchParams> {
    try {
      const back = await authorize({ server: this.#server.name, url, signal: this.#closing })
      return new URL(back, this.#auth.redirectUrl ?? defaultRedirectUrl).searchParams
    } catch (cause) {
      this.#refused = new ToolloopError('mcp_sign_in_needed', `${this.#what()} did not come to an end.`, { cause })
      throw this.#refused
    }
  }

  #fail(error: unknown): never {
    if (ToolloopError.isInstance(error) || this.#closing.aborted) throw error
    throw new ToolloopError('mcp_sign_in_needed', `${this.#what()} failed: ${messageOf(error)}`, { cause: error })
  }

  #declined(error: string | null): ToolloopError {
    // Whoever sent the browser back has written it.
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
