import { isIP } from 'node:net'
import { badRequest } from '../api-error.ts'
import type { Schemas } from '../contract.ts'
import { route } from '../route.ts'
import { networkUpdate } from './bodies.ts'
import { findRunning } from './find.ts'

type Egress = Pick<Schemas['SandboxNetworkUpdateConfig'], 'allowOut' | 'denyOut' | 'egressProxy' | 'rules'>

const EVERYTHING = '0.0.0.0/0'

/** Replaces the egress rules of a running sandbox as a whole: what is left out is cleared. What concerns its own ports stays. */
export const updateNetwork = route('put', '/sandboxes/{sandboxID}/network', {
  body: networkUpdate,
  gap: 'checked and shown, not enforced',
  handle(platform, { parameter, body, reply }) {
    const { allow_internet_access: allowInternetAccess, ...egress } = body
    checkEgress(egress)
    const { sandbox } = findRunning(platform, parameter('sandboxID'))
    const { allowPublicTraffic, httpsPorts, maskRequestHost } = sandbox.network ?? {}
    sandbox.network = {
      ...(allowPublicTraffic === undefined ? {} : { allowPublicTraffic }),
      ...(httpsPorts === undefined ? {} : { httpsPorts }),
      ...(maskRequestHost === undefined ? {} : { maskRequestHost }),
      ...egress,
    }
    sandbox.allowInternetAccess = allowInternetAccess
    return reply(204)
  },
})

/** What the platform refuses of egress rules: domains that are denied, and domains that are allowed while the rest is not denied. */
export function checkEgress({ allowOut = [], denyOut = [] }: Egress): void {
  const domain = denyOut.find((entry) => !isAddress(entry))
  if (domain !== undefined) throw badRequest(`invalid denied CIDR ${domain}`)
  if (!allowOut.every(isAddress) && !denyOut.includes(EVERYTHING)) {
    throw badRequest(
      `When specifying allowed domains in allow out, you must include '${EVERYTHING}' in deny out to block all other traffic.`,
    )
  }
}

/** An IP address, alone or as a block. */
function isAddress(entry: string): boolean {
  const [address = '', prefix, ...more] = entry.split('/')
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  return bits !== -1 && more.length === 0 && (prefix === undefined || (/^\d+$/.test(prefix) && Number(prefix) <= bits))
}
