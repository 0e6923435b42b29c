import { IdentityError } from './identity-error.ts'

const label = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/
const numericLabel = /^(?:[0-9]+|0x[0-9a-f]*)$/
const decimalByte = /^(?:0|[1-9][0-9]{0,2})$/
const bracketed = /^(\[[0-9a-f:.]*\])(?::(.*))?$/
const portNumber = /^[1-9][0-9]{0,4}$/

const hostError = (hint: string, cause?: unknown): IdentityError =>
  new IdentityError({
    code: 'CLONE_URL_HOST',
    field: 'cloneUrl',
    message: 'cloneUrl has no valid host',
    hint,
    ...(cause === undefined ? {} : { cause }),
  })

/** Splits an authority without its user into the host in its one spelling and the port's digits as they stand. */
export const hostOf = (authority: string): { hostname: string; rawPort: string | undefined } => {
  const lowerCase = authority.toLowerCase()
  if (lowerCase.startsWith('[')) {
    const match = bracketed.exec(lowerCase)
    if (match?.[1] === undefined) throw hostError('Write an IPv6 address in brackets, without a zone.')
    return { hostname: canonicalIpv6(match[1]), rawPort: match[2] }
  }
  const colon = lowerCase.indexOf(':')
  const hostname = colon === -1 ? lowerCase : lowerCase.slice(0, colon)
  assertHostname(hostname)
  return { hostname, rawPort: colon === -1 ? undefined : lowerCase.slice(colon + 1) }
}

/** RFC 5952 spelling, brackets kept. The platform's URL parser knows the address grammar; nothing else of it is used. */
const canonicalIpv6 = (literal: string): string => {
  try {
    return new URL(`https://${literal}`).hostname
  } catch (cause) {
    throw hostError('Check the IPv6 address between the brackets.', cause)
  }
}

const assertHostname = (hostname: string): void => {
  const labels = hostname.split('.')
  if (hostname.length > 253 || !labels.every((part) => label.test(part))) {
    throw hostError('Write a host name like github.com: letters, digits, dots and dashes, no trailing dot.')
  }
  // Parsers read numeric hosts in octal, hex or with missing parts; only the one plain spelling of IPv4 is taken.
  const isIpv4 = labels.length === 4 && labels.every((part) => decimalByte.test(part) && Number(part) <= 255)
  if (numericLabel.test(labels.at(-1) ?? '') && !isIpv4) {
    throw hostError('Write an IPv4 address as four decimal numbers.')
  }
}

/** The port as a number; `undefined` where none is given and for 443. */
export const portOf = (rawPort: string | undefined): number | undefined => {
  if (rawPort === undefined) return undefined
  const port = Number(rawPort)
  if (!portNumber.test(rawPort) || port > 65_535) {
    throw new IdentityError({
      code: 'CLONE_URL_PORT',
      field: 'cloneUrl',
      message: 'cloneUrl has no valid port',
      hint: 'Write a number from 1 to 65535 after the colon, or leave the colon out.',
    })
  }
  return port === 443 ? undefined : port
}
