/** Determines the source of a request: its address, host and origin. */

import { BlockList, isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { HttpProblem, type Problem } from './problem.ts'

/** The proxies in front of the service. Their forwarding headers are trusted. */
export class TrustedProxies {
  readonly #addresses = new BlockList()

  /** `proxies` contains addresses and ranges, such as `192.0.2.1` and `10.0.0.0/8`. */
  constructor(proxies: readonly string[] = []) {
    for (const proxy of proxies) {
      if (isIP(proxy) !== 0) this.#addresses.addAddress(proxy, familyOf(proxy))
      else {
        const [network, bits] = ipaddr.parseCIDR(proxy)
        this.#addresses.addSubnet(network.toString(), bits, network.kind())
      }
    }
  }

  /** Returns the problems with the proxies in the configuration. */
  static problemsOf(proxies: readonly string[] = []): Problem[] {
    return proxies.flatMap((proxy, at) =>
      isIP(proxy) !== 0 || ipaddr.isValidCIDR(proxy)
        ? []
        : [{ path: `/service/trustedProxies/${at}`, message: 'must be an IP address, or a range such as `10.0.0.0/8`' }],
    )
  }

  includes(address: string): boolean {
    return isIP(address) !== 0 && this.#addresses.check(address, familyOf(address))
  }
}

/**
 * Returns the address of the client, or undefined if it is unknown. `from` has the Node.js request in `incoming`. Behind trusted proxies,
 * the address is the last one in `x-forwarded-for` that isn't a trusted proxy. The client can forge all earlier addresses.
 */
export function addressOf(from: unknown, { headers }: Request, proxies: TrustedProxies): string | undefined {
  const peer = peerOf(from)?.replace(/^::ffff:(?=\d+\.)/, '')
  if (peer === undefined || !proxies.includes(peer)) return peer
  const forwarded = headers.get('x-forwarded-for')?.split(',') ?? []
  const told = forwarded.map((one) => one.trim()).findLast((one) => !proxies.includes(one)) ?? ''
  return isIP(told) === 0 ? peer : told
}

function peerOf(from: unknown): string | undefined {
  const incoming = typeof from === 'object' && from !== null && 'incoming' in from ? from.incoming : undefined
  const socket = typeof incoming === 'object' && incoming !== null && 'socket' in incoming ? incoming.socket : undefined
  const address = typeof socket === 'object' && socket !== null && 'remoteAddress' in socket ? socket.remoteAddress : undefined
  return typeof address === 'string' ? address : undefined
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}

export interface OriginRules {
  /** The host names of the service, in addition to `localhost` and IP addresses. `*` allows any host name. */
  hosts: readonly string[]
  /** Other origins whose pages may use the service, such as `https://app.example.com`. */
  origins: readonly string[]
}

/**
 * Throws an `HttpProblem` 403 for requests from pages of foreign sites. A check of `host` protects against DNS rebinding, and a check of
 * `origin` against other cross-site requests.
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

/** Returns the headers that let a page of an allowed origin read the response. For other origins, returns no headers. */
export function corsHeaders(request: Request, { origins }: OriginRules): Record<string, string> {
  const origin = request.headers.get('origin')
  if (origin === null || !origins.includes(origin)) return {}
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'etag, mcp-session-id, retry-after, www-authenticate, x-request-id, x-run-id, x-should-retry',
    vary: 'origin',
  }
}

/**
 * Returns the headers that answer a preflight request of an allowed page. All requested headers are allowed, because clients send many
 * headers of their own.
 */
export function preflightHeaders(request: Request): Record<string, string> {
  const asked = request.headers.get('access-control-request-headers') ?? ''
  return {
    'access-control-allow-methods': 'GET, POST, PUT, DELETE',
    'access-control-allow-headers': /^[\w-]+( *, *[\w-]+)*$/.test(asked) ? asked : 'authorization, content-type',
    'access-control-max-age': '600',
    vary: 'origin, access-control-request-headers',
  }
}
