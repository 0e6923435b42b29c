import type { BlockList, isIP } from 'node:net'

/** What of `node:net` it takes to tell addresses apart. */
interface NetModule {
  readonly BlockList: typeof BlockList
  readonly isIP: typeof isIP
}

/** IPv4 networks that lead nowhere public: this host, private, shared, link-local, documentation, multicast, reserved. */
const notPublic4: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
]

/** Of IPv6 only what is handed out globally is public, less the networks in which another address hides. */
const globalUnicast6 = ['2000::', 3] as const
const notPublic6: readonly (readonly [network: string, prefix: number])[] = [
  // Teredo, benchmarking, ORCHID and what else is set apart for protocols.
  ['2001::', 23],
  ['2001:db8::', 32],
  // 6to4 and documentation.
  ['2002::', 16],
  ['3fff::', 20],
]

/** Is this a literal address that everybody can reach? `undefined` for what is no address. */
export const isPublicAddress = (net: NetModule, address: string): boolean | undefined => {
  // An address with a zone belongs to a link of one machine.
  if (address.includes('%')) return false
  const family = net.isIP(address)
  if (family === 0) return undefined
  if (family === 4) return !listOf(net, notPublic4, 'ipv4').check(address, 'ipv4')
  // An IPv4-mapped address lies outside of the global network, so it is refused whichever address it maps.
  return (
    listOf(net, [globalUnicast6], 'ipv6').check(address, 'ipv6') &&
    !listOf(net, notPublic6, 'ipv6').check(address, 'ipv6')
  )
}

const listOf = (
  net: NetModule,
  networks: readonly (readonly [network: string, prefix: number])[],
  family: 'ipv4' | 'ipv6',
): BlockList => {
  const list = new net.BlockList()
  for (const [network, prefix] of networks) list.addSubnet(network, prefix, family)
  return list
}
