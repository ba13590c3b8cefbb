import { describe, expect, it } from 'vitest'
import { AddressRule, isPublicAddress } from '../../../src/tools/builtin/web/public-address.ts'

describe('isPublicAddress', () => {
  it.each(['93.184.216.34', '8.8.8.8', '2606:4700:4700::1111', '::ffff:8.8.8.8', '2a00:1450:4001:830::200e'])(
    'is true for %s',
    (address) => {
      expect(isPublicAddress(address)).toBe(true)
    },
  )

  it.each([
    ['this machine', '127.0.0.1', '127.255.255.254', '0.0.0.0', '0.1.2.3', '::1', '::'],
    ['a private network', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fd00:ec2::254', 'fec0::1'],
    ['this link, where clouds keep their metadata', '169.254.169.254', '169.254.170.2', 'fe80::1', 'fe80::1%eth0'],
    ['a carrier, where Alibaba keeps its metadata', '100.64.0.1', '100.100.100.200'],
    ['the control plane of Azure and Oracle', '168.63.129.16', '192.0.0.192'],
    ['a group or everyone', '224.0.0.1', '239.255.255.255', '255.255.255.255', 'ff02::1'],
    ['reserved or for tests', '240.0.0.1', '192.0.2.1', '198.51.100.1', '203.0.113.1', '198.18.0.1', '2001:db8::1', '100::1'],
    ['an IPv4 address in IPv6 clothes', '::ffff:127.0.0.1', '::ffff:a9fe:a9fe', '::127.0.0.1', '64:ff9b::7f00:1', '64:ff9b:1::7f00:1'],
    [
      'another IPv4 address in IPv6 clothes',
      '2002:7f00:1::',
      '2002:a9fe:a9fe::1',
      '2001:0:4136:e378:8000:63bf:3fff:fdd2',
      '::ffff:0:127.0.0.1',
    ],
    ['no address', '', 'localhost', '1.2.3', '999.1.1.1', '0x7f.0.0.1.5'],
  ])('is false for addresses of %s', (_, ...addresses) => {
    expect(addresses.filter(isPublicAddress)).toEqual([])
  })
})

describe('AddressRule', () => {
  it('allows public addresses, and those in the given ranges', () => {
    const rule = new AddressRule(['127.0.0.1/32', 'fd12::/16'])
    expect(['127.0.0.1', '::ffff:127.0.0.1', 'fd12::5', '8.8.8.8'].every((address) => rule.allows(address))).toBe(true)
    expect(['127.0.0.2', 'fd13::5', '169.254.169.254', '10.0.0.1', 'nothing'].some((address) => rule.allows(address))).toBe(false)
    expect(new AddressRule(true).allows('127.0.0.1')).toBe(true)
    expect(new AddressRule(false).allows('127.0.0.1')).toBe(false)
  })

  it('throws for an invalid range', () => {
    expect(() => new AddressRule(['localhost'])).toThrow('Expected `allowPrivateAddresses` to be true, false, or a list of ranges')
    expect(() => new AddressRule(['10.0.0.1'])).toThrow('got `"10.0.0.1"`')
  })
})
