import type { IncomingMessage } from 'node:http'
import type { LookupFunction } from 'node:net'
import type { CloneUrl } from '@warmbox/identity'
import { authorizationOf } from '../credential.ts'
import type { Destination } from '../hosts/allowed-hosts.ts'
import { ADVERTISEMENT_TYPE, AdvertisementError, findRef, readAdvertisement } from './advertisement.ts'
import { trustContext } from './certificates.ts'
import { outcomeOfStatus } from './http-status.ts'
import { type Lookup, type LookupAnswer, refMissing } from './lookup.ts'
import { proxyRoute } from './proxy.ts'
import { advertisementUrl, redirectedAway, sameOriginTarget } from './redirect.ts'

const pages: ReadonlySet<string> = new Set(['text/html', 'application/xhtml+xml'])
const redirects: ReadonlySet<number | undefined> = new Set([301, 302, 303, 307, 308])

/**
 * Asks with one HTTPS request: the advertisement of the smart protocol in version 0, which is what a server speaks to a
 * client that names no version. HEAD is its first line, so the answer is cancelled a few hundred bytes in, however
 * many refs follow. A redirect is followed once, and only to the same origin: the credential was given for that one.
 */
export const lookupOverHttp = async (lookup: Lookup): Promise<LookupAnswer> => {
  const route = proxyRoute(lookup.environment, lookup.nodeVersion)
  if (route.kind === 'git') return unsupported('the proxy needs git', false)
  const { destination } = lookup
  // Whether the proxy or this process resolves the name, NO_PROXY decides request by request; git can be held to both.
  if (route.kind === 'agent' && destination.kind === 'only') return unsupported('the proxy needs git', false)
  const [https, secureContext] = await Promise.all([import('node:https'), trustContext(lookup.certificates)])
  const agent = new https.Agent({
    keepAlive: false,
    ...(route.kind === 'agent' ? { proxyEnv: route.variables } : {}),
    ...(secureContext === undefined ? {} : { secureContext }),
  })
  const request = (clone: CloneUrl): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      https
        .get(
          advertisementUrl(clone),
          {
            agent,
            signal: lookup.signal,
            ...(destination.kind === 'only' ? { lookup: fixedLookup(destination) } : {}),
            headers: {
              accept: ADVERTISEMENT_TYPE,
              'accept-encoding': 'identity',
              // Hosts show a web page to clients that do not call themselves git.
              'user-agent': 'git/warmbox',
              ...(lookup.credential === undefined ? {} : { authorization: authorizationOf(lookup.credential) }),
            },
          },
          resolve,
        )
        .on('error', reject)
    })
  try {
    const first = await request(lookup.clone)
    if (!redirects.has(first.statusCode)) return await readAnswer(first, lookup.clone, lookup.ref)
    first.destroy()
    const target = sameOriginTarget(lookup.clone, first.headers.location)
    if (target === undefined) return redirectedAway
    const second = await request(target)
    return await readAnswer(second, target, lookup.ref)
  } finally {
    agent.destroy()
  }
}

/** Resolves every name to the addresses that were looked at. */
const fixedLookup =
  ({ addresses }: Extract<Destination, { kind: 'only' }>): LookupFunction =>
  (_hostname, options, callback) => {
    const [first] = addresses
    if (options.all === true) callback(null, [...addresses])
    else if (first === undefined) callback(new Error('no address'), '', 0)
    else callback(null, first.address, first.family)
  }

const unsupported = (reason: string, answered: boolean): LookupAnswer => ({ status: 'unsupported', reason, answered })

const readAnswer = async (response: IncomingMessage, clone: CloneUrl, ref: string): Promise<LookupAnswer> => {
  try {
    const status = response.statusCode ?? 0
    if (status < 200 || status >= 300) return outcomeOfStatus(status)
    const type = response.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
    // A page for people, most often to sign in: some hosts show it to a credential they no longer accept.
    if (type !== undefined && pages.has(type)) return outcomeOfStatus(status)
    if (type !== ADVERTISEMENT_TYPE) return unsupported('the host does not speak the smart protocol', true)
    const encoding = response.headers['content-encoding']
    if (encoding !== undefined && encoding !== 'identity') return unsupported('the host compresses the answer', true)
    const sha = await findRef(readAdvertisement(response), ref)
    return sha === undefined ? refMissing(ref) : { status: 'found', sha, cloneUrl: clone.cloneUrl }
  } catch (error) {
    if (error instanceof AdvertisementError) return unsupported(error.message, true)
    throw error
  } finally {
    response.destroy()
  }
}
