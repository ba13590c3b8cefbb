import { isIP } from 'node:net'
import { HttpProblem } from './problem.ts'

export interface OriginRules {
  /** Host names the service is reached by, besides `localhost` and IP addresses. `*`: any. */
  hosts: readonly string[]
  /** Origins of other sites whose pages may use it, such as `https://app.example.com`. */
  origins: readonly string[]
}

/**
 * Refuses what only a browser on a foreign site sends. A page that made a name of its own point to this machine (DNS rebinding) says that
 * name in `host`; an IP address can't be rebound. A page of another site says so in `origin`. Throws an `HttpProblem` 403.
 */
export function checkOrigin(request: Request, { hosts, origins }: OriginRules): void {
  const host = request.headers.get('host') ?? new URL(request.url).host
  const name = hostName(host)
  const isOwn = name !== undefined && (isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost') || hosts.includes(name))
  if (!isOwn && !hosts.includes('*')) {
    throw new HttpProblem(403, 'host_not_allowed', 'The host of this request is not among `service.hosts`', { param: 'host' })
  }
  const origin = request.headers.get('origin')
  if (origin === null || origins.includes(origin) || URL.parse(origin)?.host === host) return
  throw new HttpProblem(403, 'origin_not_allowed', 'The origin of this request is not among `service.origins`', { param: 'origin' })
}

function hostName(host: string): string | undefined {
  return URL.parse(`http://${host}`)
    ?.hostname.replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
}

/** Headers that let a page of an allowed other site read the response; none for any other. */
export function corsHeaders(request: Request, { origins }: OriginRules): Record<string, string> {
  const origin = request.headers.get('origin')
  if (origin === null || !origins.includes(origin)) return {}
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'etag, mcp-session-id, retry-after, www-authenticate, x-request-id, x-run-id, x-should-retry',
    vary: 'origin',
  }
}

/** What a page that is allowed may send: the headers it asks for, since clients have many of their own. */
export function preflightHeaders(request: Request): Record<string, string> {
  const asked = request.headers.get('access-control-request-headers') ?? ''
  return {
    'access-control-allow-methods': 'GET, POST, PUT, DELETE',
    'access-control-allow-headers': /^[\w-]+( *, *[\w-]+)*$/.test(asked) ? asked : 'authorization, content-type',
    'access-control-max-age': '600',
    vary: 'origin, access-control-request-headers',
  }
}
