import { randomBytes } from 'node:crypto'
import type {
  OAuthClientInformationContext,
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client'
import { ToolloopError } from '../../../core/errors.ts'
import { withoutUndefined } from '../../../core/messages.ts'
import { defaultRedirectUrl, type McpAuth } from '../auth-options.ts'
import type { McpClientSdk } from '../sdk/load-sdk.ts'
import type { KeptCredentials } from './credentials.ts'

/** Provides the SDK's OAuth functions with the settings and the stored credentials of this client. One instance serves one sign-in. */
export class OAuthClient implements OAuthClientProvider {
  readonly #auth: McpAuth
  readonly #kept: KeptCredentials
  readonly #state = randomBytes(32).toString('base64url')
  #verifier = ''
  #discovery: OAuthDiscoveryState | undefined
  #used: StoredOAuthTokens | undefined
  /** The address to open in the user's browser. Undefined until it is known. */
  authorizationUrl: URL | undefined
  readonly clientMetadataUrl?: string
  readonly addClientAuthentication?: NonNullable<OAuthClientProvider['addClientAuthentication']>
  readonly saveClientInformation?: NonNullable<OAuthClientProvider['saveClientInformation']>
  readonly prepareTokenRequest?: NonNullable<OAuthClientProvider['prepareTokenRequest']>

  constructor(sdk: McpClientSdk, auth: McpAuth, kept: KeptCredentials) {
    this.#auth = auth
    this.#kept = kept
    const { clientId, clientMetadataUrl, privateKey, grant } = auth
    if (clientMetadataUrl !== undefined) this.clientMetadataUrl = clientMetadataUrl
    if (clientId === undefined) {
      this.saveClientInformation = (client, ctx) =>
        kept.change((before) => ({ ...before, clients: { ...before.clients, [ctx?.issuer ?? '']: client } }))
    }
    if (grant === 'client_credentials') {
      this.prepareTokenRequest = (scope) => new URLSearchParams({ grant_type: 'client_credentials', ...withoutUndefined({ scope }) })
    }
    if (privateKey !== undefined && clientId !== undefined) {
      const { pem, algorithm: alg } = privateKey
      this.addClientAuthentication = sdk.createPrivateKeyJwtAuth({ issuer: clientId, subject: clientId, privateKey: pem, alg })
    }
  }

  get redirectUrl(): string | URL | undefined {
    return this.#auth.grant === 'client_credentials' ? undefined : (this.#auth.redirectUrl ?? defaultRedirectUrl)
  }

  get clientMetadata(): OAuthClientMetadata {
    const { clientName = 'toolloop', scope, grant } = this.#auth
    const isAlone = grant === 'client_credentials'
    return {
      client_name: clientName,
      redirect_uris: this.redirectUrl === undefined ? [] : [String(this.redirectUrl)],
      grant_types: isAlone ? ['client_credentials'] : ['authorization_code', 'refresh_token'],
      ...(isAlone ? {} : { response_types: ['code'] }),
      ...withoutUndefined({ scope }),
    }
  }

  /** A value that is sent with the authorization request and must be returned in the redirect. A forged redirect does not contain it. */
  state(): string {
    return this.#state
  }

  /**
   * Called before anything is sent to an authorization server. Throws `tool_denied` if `found` is not the authorization server named in the
   * options.
   */
  saveAuthorizationServerUrl(found: string): void {
    const { issuer } = this.#auth
    if (issuer !== undefined && withoutSlash(issuer) !== withoutSlash(found))
      throw new ToolloopError('tool_denied', `The server names another authorization server than ${issuer}, its \`auth.issuer\`.`)
  }

  async clientInformation(ctx?: OAuthClientInformationContext): Promise<StoredOAuthClientInformation | undefined> {
    const { clientId, clientSecret, issuer } = this.#auth
    const { clients = {}, issuer: known } = await this.#kept.read()
    if (clientId !== undefined) {
      const at = issuer ?? known
      return {
        client_id: clientId,
        ...withoutUndefined({ client_secret: clientSecret, issuer: at }),
      }
    }
    const client = clients[ctx?.issuer ?? '']
    // The client was registered with another redirect address, so it can't be used for signing in a user.
    const isElsewhere =
      client !== undefined && 'redirect_uris' in client && Array.isArray(client.redirect_uris) && this.#auth.authorize !== undefined
        ? !client.redirect_uris.includes(String(this.redirectUrl))
        : false
    return isElsewhere ? undefined : client
  }

  async tokens(): Promise<StoredOAuthTokens | undefined> {
    this.#used = (await this.#kept.read()).tokens
    return this.#used
  }

  async saveTokens(tokens: StoredOAuthTokens, ctx?: OAuthClientInformationContext): Promise<void> {
    await this.#kept.change((before) => ({ ...before, tokens, ...withoutUndefined({ issuer: ctx?.issuer }) }))
  }

  redirectToAuthorization(url: URL): void {
    this.authorizationUrl = url
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier
  }

  codeVerifier(): string {
    return this.#verifier
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovery = state
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovery
  }

  /**
   * Deletes the credentials that the authorization server no longer accepts. Keeps credentials that another process has renewed in the
   * meantime.
   */
  async invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): Promise<void> {
    if (scope === 'discovery' || scope === 'all') this.#discovery = undefined
    if (scope === 'verifier' || scope === 'discovery') return
    await this.#kept.change(({ tokens, clients, ...rest }) => ({
      ...rest,
      ...(scope === 'client' || tokens?.access_token !== this.#used?.access_token ? { tokens } : {}),
      ...(scope === 'tokens' ? { clients } : {}),
    }))
  }
}

function withoutSlash(address: string): string {
  return address.replace(/\/$/, '')
}
