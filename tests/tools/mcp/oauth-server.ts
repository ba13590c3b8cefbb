import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { closeServer } from '../../close-server.ts'

export interface OAuthServer extends AsyncDisposable {
  url: string
  /** How often each path was requested, without refused requests. */
  count(path: string): number
  /** Revokes the current access tokens, so that they have to be renewed. */
  expire(): void
  /** The issued tokens. */
  tokens: string[]
  /** Replaces the server's metadata. */
  metadata: Record<string, unknown>
  /** Replaces the resource's metadata. */
  resource: Record<string, unknown>
  /** Called when tokens are requested; the request waits until it calls `go`. */
  atToken: (go: () => void, response: ServerResponse) => void
  /** Changes the query of the redirect. */
  sendBack: (query: URLSearchParams) => void
}

/**
 * An MCP server with one tool, and its authorization server, which requires PKCE. A refresh token is valid once; using it again revokes all
 * tokens issued with it, as RFC 9700 recommends.
 */
export async function startOAuthServer(): Promise<OAuthServer> {
  const counts = new Map<string, number>()
  const challenges = new Map<string, string>()
  const valid = new Set<string>()
  let refreshToken: string | undefined
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', own.url)
    const body = await bodyOf(request)
    const answer = routes[url.pathname]
    if (answer === undefined) return void response.writeHead(404).end()
    counts.set(url.pathname, own.count(url.pathname) + 1)
    answer({ url, body, request, response })
  })
  const giveTokens = (response: ServerResponse) => {
    const token = `access-${randomUUID()}`
    refreshToken = `refresh-${randomUUID()}`
    valid.add(token)
    own.tokens.push(token, refreshToken)
    json(response, { access_token: token, token_type: 'Bearer', expires_in: 3600, refresh_token: refreshToken })
  }
  const exchange = (body: string, response: ServerResponse) => {
    const asked = new URLSearchParams(body)
    const verified = createHash('sha256')
      .update(asked.get('code_verifier') ?? '')
      .digest('base64url')
    const isCode = challenges.get(asked.get('code') ?? '') === verified
    const isRefresh = refreshToken !== undefined && asked.get('refresh_token') === refreshToken
    challenges.delete(asked.get('code') ?? '')
    if (isCode || isRefresh) return giveTokens(response)
    valid.clear()
    refreshToken = undefined
    json(response, { error: 'invalid_grant', error_description: `not valid: ${asked.get('refresh_token')}` }, 400)
  }
  const routes: Record<string, (asked: { url: URL; body: string; request: IncomingMessage; response: ServerResponse }) => void> = {
    '/.well-known/oauth-protected-resource/mcp': ({ response }) =>
      json(response, { resource: own.url, authorization_servers: [new URL(own.url).origin], ...own.resource }),
    '/.well-known/oauth-authorization-server': ({ response }) => {
      const { origin: issuer } = new URL(own.url)
      json(response, {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        registration_endpoint: `${issuer}/register`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
        authorization_response_iss_parameter_supported: true,
        ...own.metadata,
      })
    },
    '/register': ({ body, response }) => json(response, { ...JSON.parse(body), client_id: 'registered' }, 201),
    '/authorize': ({ url, response }) => {
      const code = randomUUID()
      challenges.set(code, url.searchParams.get('code_challenge') ?? '')
      const back = new URL(url.searchParams.get('redirect_uri') ?? '')
      back.search = new URLSearchParams({ code, state: url.searchParams.get('state') ?? '', iss: new URL(own.url).origin }).toString()
      own.sendBack(back.searchParams)
      response.writeHead(302, { location: back.href }).end()
    },
    '/token': ({ body, response }) => own.atToken(() => exchange(body, response), response),
    '/mcp': ({ body, request, response }) => {
      const token = request.headers.authorization?.replace('Bearer ', '') ?? ''
      if (!valid.has(token)) {
        const metadata = `${new URL(own.url).origin}/.well-known/oauth-protected-resource/mcp`
        return void response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${metadata}"` }).end(`not valid: ${token}`)
      }
      if (request.method !== 'POST') return void response.writeHead(405).end()
      const { id, method, params } = JSON.parse(body)
      if (id === undefined) return void response.writeHead(202).end()
      const results: Record<string, object> = {
        initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'guarded', version: '1' } },
        'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
        'tools/call': { content: [{ type: 'text', text: JSON.stringify(params?.arguments) }] },
      }
      const result = results[method]
      json(response, { jsonrpc: '2.0', id, ...(result ? { result } : { error: { code: -32601, message: 'no such method' } }) })
    },
  }
  const own: OAuthServer = {
    url: '',
    count: (path) => counts.get(path) ?? 0,
    expire: () => valid.clear(),
    tokens: [],
    metadata: {},
    resource: {},
    atToken: (go) => go(),
    sendBack: () => {},
    [Symbol.asyncDispose]: () => closeServer(server),
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  own.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  return own
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

function json(response: ServerResponse, value: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}
