import { BlockList, isIP } from 'node:net'

const ownNetworks = new BlockList()
for (const [network, bits] of [
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const)
  ownNetworks.addSubnet(network, bits, 'ipv4')
for (const [network, bits] of [
  ['::1', 128],
  ['fc00::', 7],
  ['fe80::', 10],
] as const)
  ownNetworks.addSubnet(network, bits, 'ipv6')

/**
 * The address a request comes from, by what the server knows of its connection (`{ incoming }` of Hono's servers for Node). Behind a proxy of
 * one's own network it is the last one in `x-forwarded-for`, which is the one that the proxy has seen. Undefined: it is not known.
 */
export function addressOf(from: unknown, { headers }: Request): string | undefined {
  const peer = peerOf(from)?.replace(/^::ffff:(?=\d+\.)/, '')
  if (peer === undefined || !isOwnNetwork(peer)) return peer
  const told = headers.get('x-forwarded-for')?.split(',').at(-1)?.trim() ?? ''
  return isIP(told) === 0 ? peer : told
}

function peerOf(from: unknown): string | undefined {
  const incoming = typeof from === 'object' && from !== null && 'incoming' in from ? from.incoming : undefined
  const socket = typeof incoming === 'object' && incoming !== null && 'socket' in incoming ? incoming.socket : undefined
  const address = typeof socket === 'object' && socket !== null && 'remoteAddress' in socket ? socket.remoteAddress : undefined
  return typeof address === 'string' ? address : undefined
}

function isOwnNetwork(address: string): boolean {
  const version = isIP(address)
  return version !== 0 && ownNetworks.check(address, version === 6 ? 'ipv6' : 'ipv4')
}
