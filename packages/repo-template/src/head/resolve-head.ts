import { assertSha } from '@warmbox/identity'
import { DeadlineError, withDeadline } from '../deadline.ts'
import { checkAllowedHosts, destinationOf, refusalOfHost } from '../hosts/allowed-hosts.ts'
import { checkCredentialForms } from '../hosts/credential-form.ts'
import { assertKnownKeys, assertObject, assertSignal } from '../known-keys.ts'
import { parseRefSelection } from '../ref-selector.ts'
import { parseAccess } from '../repository-access.ts'
import { timeoutOf } from '../timeout.ts'
import { assertCertificates, CertificateFileError, extraCertificates } from './certificates.ts'
import { lookupWithGit } from './git-lookup.ts'
import { DEFAULT_HEAD_TIMEOUT_MS, type Head, type HeadOptions, type HeadResolver } from './head.ts'
import { lookupOverHttp } from './http-lookup.ts'
import type { Lookup, LookupAnswer } from './lookup.ts'

const known: readonly (keyof HeadOptions)[] = [
  'branch',
  'tag',
  'pull',
  'mergeRequest',
  'sha',
  'credentialForms',
  'allowedHosts',
  'certificateAuthority',
  'timeoutMs',
  'signal',
]

/** What every way of asking has in common: input checked before any request, the host's rules, a limit in time. */
const headResolver =
  (ask: (lookup: Lookup) => Promise<Head>): HeadResolver =>
  async (access, options = {}) => {
    assertObject(options, 'options', 'The options of a head lookup', "{ branch: 'main' }")
    assertKnownKeys(options, known, 'A head lookup')
    assertSignal(options.signal)
    assertCertificates(options.certificateAuthority)
    const { ref } = parseRefSelection(options)
    const timeout = timeoutOf(options.timeoutMs, 'timeoutMs', DEFAULT_HEAD_TIMEOUT_MS)
    const allowedHosts = checkAllowedHosts(options.allowedHosts)
    const { clone, credential } = parseAccess(access, checkCredentialForms(options.credentialForms))
    if (options.sha !== undefined) {
      const sha = assertSha(options.sha)
      return (await refusalOfHost(clone, allowedHosts)) ?? { status: 'found', sha, cloneUrl: clone.cloneUrl }
    }
    try {
      return await withDeadline(timeout, options.signal, async (signal) => {
        const destination = await destinationOf(clone, allowedHosts)
        if ('status' in destination) return destination
        // Runtimes at the edge have no process; there the lookup fails as unreachable rather than with a defect.
        const [environment, nodeVersion] =
          typeof process === 'undefined' ? [{}, undefined] : [process.env, process.versions.node]
        const certificates = await extraCertificates(options.certificateAuthority, environment)
        return ask({ clone, credential, destination, ref, certificates, environment, nodeVersion, signal })
      })
    } catch (error) {
      if (options.signal?.aborted === true) throw options.signal.reason
      return { status: 'unreachable', reason: reasonOf(error), cause: error }
    }
  }

/** What is left to say where no way of asking could answer. */
const conclude = (answers: readonly Extract<LookupAnswer, { status: 'unsupported' }>[]): Head => {
  const answered = answers.find((answer) => answer.answered)
  // A page in place of a repository is how some hosts answer a credential they no longer accept.
  if (answered !== undefined) return { status: 'refused', code: 'NOT_A_REPOSITORY', reason: answered.reason }
  return { status: 'unreachable', reason: answers.map(({ reason }) => reason).join(', and ') }
}

/**
 * Looks up the commit a ref points to now: HEAD, or a `branch`, a `tag` (an annotated one means its commit), a `pull`
 * or a `mergeRequest`. One HTTPS request where that can answer, read no further than the ref; otherwise `git
 * ls-remote`: behind a proxy this runtime cannot use, and for a host that answers without the smart protocol or
 * compresses it. A `sha` is its own answer.
 *
 * Nothing of this machine takes part (credential helpers, prompts, git's configuration, `.netrc`) except
 * `HTTPS_PROXY`, `NO_PROXY` and authorities in `NODE_EXTRA_CA_CERTS` and `GIT_SSL_CAINFO`. The token is in a header of
 * the clone URL's origin and nowhere else.
 *
 * @throws IdentityError or RepoTemplateError for malformed input, before any request; the signal's reason when aborted.
 */
export const resolveHead: HeadResolver = headResolver(async (lookup) => {
  const first = await lookupOverHttp(lookup)
  if (first.status !== 'unsupported') return first
  const second = await lookupWithGit(lookup)
  return second.status === 'unsupported' ? conclude([first, second]) : second
})

/** {@link resolveHead} by the one HTTPS request alone: starts no process, and needs no git. */
export const resolveHeadOverHttp: HeadResolver = headResolver(async (lookup) => {
  const answer = await lookupOverHttp(lookup)
  return answer.status === 'unsupported' ? conclude([answer]) : answer
})

/** {@link resolveHead} by `git ls-remote` alone, for hosts and proxies that only git gets along with. */
export const resolveHeadWithGit: HeadResolver = headResolver(async (lookup) => {
  const answer = await lookupWithGit(lookup)
  return answer.status === 'unsupported' ? conclude([answer]) : answer
})

/** Our own words or the runtime's code; messages of the runtime can quote what they were given. */
const reasonOf = (error: unknown): string => {
  if (error instanceof DeadlineError || error instanceof CertificateFileError) return error.message
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return `network: ${error.code}`
  return error instanceof Error ? `lookup failed: ${error.name}` : 'lookup failed'
}
