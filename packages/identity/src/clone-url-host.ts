import { refuse } from './identity-error.ts'

const label = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/
const numericLabel = /^(?:[0-9]+|0x[0-9a-f]*)$/
const authorityParts = /^(\[[0-9a-f:.]*\]|[^:[\]]*)(?::(.*))?$/

/** What an authority without its user says: the host in its one spelling, and the port where it is not 443. */
export const readAuthority = (authority: string): { hostname: string; port: number | undefined } => {
  const [, host, digits] = authorityParts.exec(authority.toLowerCase()) ?? refuseHost()
  const hostname = host?.startsWith('[') ? canonicalAddress(host) : plainHost(host ?? '')
  const port = Number(digits ?? 443)
  if (digits !== undefined && (!/^[1-9][0-9]{0,4}$/.test(digits) || port > 65_535)) {
    refuse('CLONE_URL_PORT', 'cloneUrl', 'has no valid port', 'Use 1 to 65535.')
  }
  return { hostname, port: port === 443 ? undefined : port }
}

const refuseHost = (cause?: unknown): never =>
  refuse('CLONE_URL_HOST', 'cloneUrl', 'has no valid host', 'Write it like github.com or [::1].', cause)

/** The address in its one spelling: RFC 5952 in brackets, or four decimal numbers. The platform's URL parser knows both. */
const canonicalAddress = (address: string): string => {
  try {
    return new URL(`https://${address}`).hostname
  } catch (cause) {
    return refuseHost(cause)
  }
}

const plainHost = (host: string): string => {
  const labels = host.split('.')
  if (host.length > 253 || !labels.every((part) => label.test(part))) refuseHost()
  // Parsers read numeric hosts in octal, hex or with missing parts; only the one plain spelling of IPv4 is taken.
  return numericLabel.test(labels.at(-1) ?? '') && canonicalAddress(host) !== host ? refuseHost() : host
}
