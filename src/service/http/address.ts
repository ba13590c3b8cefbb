import { BlockList, isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { Problem } from './problem.ts'

/** The proxies in front of the service, whose word on where a request comes from is believed. */
export class TrustedProxies {
  readonly #addresses = new BlockList()

  /** Addresses and ranges: `192.0.2.1`, `10.0.0.0/8`, `fd00::/8`. */
  constructor(proxies: readonly string[] = []) {
    for (const proxy of proxies) {
      if (isIP(proxy) !== 0) this.#addresses.addAddress(proxy, familyOf(proxy))
      else {
        const [network, bits] = ipaddr.parseCIDR(proxy)
        this.#addresses.addSubnet(network.toString(), bits, network.kind())
      }
    }
  }

  /** What is wrong with the proxies that the configuration names. */
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
 * The address a request comes from, by what the server knows of its connection (`{ incoming }` of Hono's servers for Node). Behind trusted
 * proxies it is the last one in `x-forwarded-for` that is none of theirs: what stands before it anybody can write. Undefined: it is not known.
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
