import type { CloneUrl } from '@warmbox/identity'
import { RepoTemplateError } from '../errors.ts'
import type { Refusal } from '../refusal.ts'
import { isPublicAddress } from './public-address.ts'

/** An address a host was found to have. */
export interface HostAddress {
  readonly address: string
  readonly family: 4 | 6
}

/**
 * Where a lookup may connect to. `anywhere`: whatever the name resolves to then. `only`: to these addresses, which were
 * looked at; a name that resolves to another one a moment later (DNS rebinding) leads nowhere else.
 */
export type Destination =
  | { readonly kind: 'anywhere' }
  | { readonly kind: 'only'; readonly addresses: readonly HostAddress[] }

const anywhere: Destination = Object.freeze({ kind: 'anywhere' })

/** An exact entry vouches for the host, private or not; one with a star for its public addresses only. */
type Allowance = 'host' | 'public' | 'none'

const allowanceOf = ({ host, hostname, port }: CloneUrl, allowed: readonly string[] | undefined): Allowance => {
  if (allowed === undefined || allowed.includes(host)) return 'host'
  const matches = allowed.some(
    (entry) => port === undefined && (entry === '*' || (entry.startsWith('*.') && hostname.endsWith(entry.slice(1)))),
  )
  return matches ? 'public' : 'none'
}

/** Brackets are the URL's, not the address's. */
const literalOf = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1')

const notAllowed = (host: string): Refusal => ({
  status: 'refused',
  code: 'HOST_NOT_ALLOWED',
  reason: `the host ${host} is not among allowedHosts`,
})

const notPublic = (host: string): Refusal => ({
  status: 'refused',
  code: 'ADDRESS_NOT_PUBLIC',
  reason: `the host ${host} has an address that is not public`,
})

/** What can be said of a host without asking anybody: `undefined` where nothing speaks against it. */
export const refusalOfHost = async (
  clone: CloneUrl,
  allowed: readonly string[] | undefined,
): Promise<Refusal | undefined> => {
  const allowance = allowanceOf(clone, allowed)
  if (allowance === 'host') return undefined
  if (allowance === 'none') return notAllowed(clone.host)
  if (/(?:^|\.)localhost$/.test(clone.hostname)) return notPublic(clone.host)
  return isPublicAddress(await import('node:net'), literalOf(clone.hostname)) === false
    ? notPublic(clone.host)
    : undefined
}

/**
 * Where the host may be reached, or why not. A name is resolved here, once; one address among its public ones that is
 * not public refuses them all, because which one is used is not ours to say.
 *
 * @throws whatever the resolver does for a name that has no address.
 */
export const destinationOf = async (
  clone: CloneUrl,
  allowed: readonly string[] | undefined,
): Promise<Destination | Refusal> => {
  const refusal = await refusalOfHost(clone, allowed)
  if (refusal !== undefined) return refusal
  if (allowanceOf(clone, allowed) === 'host') return anywhere
  const [net, { lookup }] = await Promise.all([import('node:net'), import('node:dns/promises')])
  const addresses = await lookup(literalOf(clone.hostname), { all: true, verbatim: true })
  if (!addresses.every(({ address }) => isPublicAddress(net, address) === true)) return notPublic(clone.host)
  return {
    kind: 'only',
    addresses: addresses.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 })),
  }
}

/** `*`, `*.domain`, or a host as a clone URL has it, its port included. */
const entryForm = /^(?:\*|\*\.[a-z0-9._-]+|[a-z0-9._-]+(?::[1-9]\d{0,4})?|\[[0-9a-f:.]+\](?::[1-9]\d{0,4})?)$/

/**
 * Frozen, in lower case, less `:443`.
 * @throws RepoTemplateError `OPTION_TYPE` or `OPTION_INVALID`.
 */
export const checkAllowedHosts = (allowed: readonly string[] | undefined): readonly string[] | undefined => {
  if (allowed === undefined) return undefined
  const entries: readonly unknown[] = allowed
  if (!Array.isArray(entries)) {
    throw new RepoTemplateError({
      code: 'OPTION_TYPE',
      field: 'allowedHosts',
      message: 'allowedHosts must be a list of hosts',
      hint: "Write ['github.com'], for one, or leave it out to allow every host.",
    })
  }
  return Object.freeze(
    entries.map((entry) => {
      const host = typeof entry === 'string' ? entry.toLowerCase().replace(/:443$/, '') : ''
      if (entryForm.test(host)) return host
      throw new RepoTemplateError({
        code: typeof entry === 'string' ? 'OPTION_INVALID' : 'OPTION_TYPE',
        field: 'allowedHosts',
        message: 'allowedHosts holds an entry that is no host',
        hint: 'Write github.com, git.example.com:8443, *.example.com, or * for every host with public addresses.',
      })
    }),
  )
}
