import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import { HttpProblem } from '../http/problem.ts'

/**
 * The issuer of the tokens that MCP clients send (OAuth 2.1). Clients discover the issuer through the metadata of RFC 9728. The service's
 * `authenticate` option checks the tokens.
 */
export interface McpTokenIssuer {
  /** The public URL of the MCP route, such as `https://example.com/mcp`. Tokens are issued for this resource. */
  resource: string
  /** The URLs of the issuers, such as `https://login.example.com`. */
  servers: readonly string[]
  /** The scopes that a client should request. Default: none. */
  scopes?: readonly string[]
}

const optionNames: OptionNames<McpTokenIssuer> = { resource: true, servers: true, scopes: true }

/** Checks the options of an issuer. Throws `invalid_option`. */
export function checkAuthorization(authorization: McpTokenIssuer): void {
  const path = 'mcp.authorization'
  checkOptionNames(authorization, optionNames, '`createService`', path)
  const isAddress = (text: unknown) => typeof text === 'string' && /^https?:$/.test(URL.parse(text)?.protocol ?? '')
  const { resource, servers, scopes = [] } = authorization
  if (!isAddress(resource)) throw new InvalidOptionError(`${path}.resource`, 'the address of the MCP route', resource)
  if (!Array.isArray(servers) || servers.length === 0 || !servers.every(isAddress))
    throw new InvalidOptionError(`${path}.servers`, 'addresses of issuers', servers)
  if (!scopes.every((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)))
    throw new InvalidOptionError(`${path}.scopes`, 'names of scopes', scopes)
}

/** The path of the metadata, which is served beside the route. */
export const metadataPath = '/.well-known/oauth-protected-resource/mcp'

/** Returns the metadata about the route and its issuers. https://www.rfc-editor.org/rfc/rfc9728 */
export function resourceMetadata({ resource, servers, scopes }: McpTokenIssuer): object {
  return {
    resource,
    authorization_servers: servers,
    bearer_methods_supported: ['header'],
    scopes_supported: scopes,
  }
}

/** Adds to a 401 or 403 the header that tells clients where to get a token. */
export function challenged(problem: HttpProblem, { resource, scopes = [] }: McpTokenIssuer): HttpProblem {
  const { status, code, message, fields } = problem
  if (status !== 401 && status !== 403) return problem
  const { href } = new URL(resource)
  const parts = {
    ...(status === 403 ? { error: 'insufficient_scope' } : {}),
    resource_metadata: `${href.replace(/\/mcp\/?$/, '').replace(/\/$/, '')}${metadataPath}`,
    ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
  }
  const challenge = Object.entries(parts).map(([name, value]) => `${name}="${value}"`)
  return new HttpProblem(status, code, message, {
    ...fields,
    headers: { ...fields.headers, 'www-authenticate': `Bearer ${challenge.join(', ')}` },
  })
}
