import { isIP } from 'node:net'
import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js'
import { InvalidOptionError } from '../../../core/errors.ts'

/**
 * Azure's control address. It is private, although it is in a public range:
 * https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16
 */
const alsoPrivate = new Set(['168.63.129.16'])

/**
 * Whether an IP address is public. Addresses reserved for this machine, private networks, carriers, multicast or tests are not public. IPv6
 * addresses that embed an IPv4 address (6to4, NAT64, Teredo) are not public either. An IPv4-mapped address counts as its IPv4 address.
 */
export function isPublicAddress(address: string): boolean {
  // The parser also accepts forms that sockets don't accept, such as `1.2.3`.
  if (isIP(address) === 0) return false
  const ip = ipaddr.process(address)
  if (ip.range() !== 'unicast' || alsoPrivate.has(ip.toString())) return false
  // Only 2000::/3 is assigned for public addresses: https://www.iana.org/assignments/ipv6-address-space
  return ip.kind() === 'ipv4' || ((ip.toByteArray()[0] ?? 0) & 0xe0) === 0x20
}

/** Decides which addresses may be connected to: public addresses, and private addresses that are explicitly allowed. */
export class AddressRule {
  readonly #all: boolean
  readonly #ranges: [IPv4 | IPv6, number][]

  /**
   * `allowed`: `true` also allows all private addresses; a list allows the private addresses in its ranges (`127.0.0.1/32`, `10.1.0.0/16`).
   * Throws `invalid_option` for an invalid range.
   */
  constructor(allowed: boolean | readonly string[]) {
    this.#all = allowed === true
    this.#ranges = (typeof allowed === 'boolean' ? [] : allowed).map((range) => {
      if (!ipaddr.isValidCIDR(range)) {
        throw new InvalidOptionError('allowPrivateAddresses', 'true, false, or a list of ranges such as `10.1.0.0/16`', range)
      }
      return ipaddr.parseCIDR(range)
    })
  }

  allows(address: string): boolean {
    if (this.#all || isPublicAddress(address)) return true
    if (isIP(address) === 0) return false
    const ip = ipaddr.process(address)
    return this.#ranges.some(([range, bits]) => range.kind() === ip.kind() && ip.match(range, bits))
  }
}
