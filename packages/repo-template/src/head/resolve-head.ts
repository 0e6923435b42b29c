import { basicCredential } from '../credential.ts'
import { DeadlineError, withDeadline } from '../deadline.ts'
import { assertKnownKeys } from '../known-keys.ts'
import { parseRefSelection } from '../ref-selector.ts'
import { parseAccess, type RepositoryAccess } from '../repository-access.ts'
import { CertificateFileError, extraCertificates } from './certificates.ts'
import { lookupWithGit } from './git-lookup.ts'
import { DEFAULT_HEAD_TIMEOUT_MS, type Head, type HeadOptions } from './head.ts'
import { lookupOverHttp } from './http-lookup.ts'
import type { Lookup, LookupAnswer } from './lookup.ts'
import { timeoutOf } from '../timeout.ts'

const known: readonly (keyof HeadOptions)[] = ['branch', 'tag', 'pull', 'certificateAuthority', 'timeoutMs', 'signal']

/**
 * Looks up the commit a ref points to now: HEAD, or a `branch`, a `tag` (an annotated one means its commit) or a
 * `pull` request. One HTTPS request where that can answer, read no further than the ref; otherwise `git ls-remote`:
 * behind a proxy this runtime cannot use, and for a host that answers without the smart protocol or compresses it.
 *
 * Nothing of this machine takes part (credential helpers, prompts, git's configuration, `.netrc`) except
 * `HTTPS_PROXY`, `NO_PROXY` and authorities in `NODE_EXTRA_CA_CERTS` and `GIT_SSL_CAINFO`. The token is in a header of
 * the clone URL's origin and nowhere else.
 *
 * @throws IdentityError or RepoTemplateError for malformed input, before any request; the signal's reason when aborted.
 */
export const resolveHead = async (access: RepositoryAccess, options: HeadOptions = {}): Promise<Head> => {
  assertKnownKeys(options, known, 'A head lookup')
  const { ref } = parseRefSelection(options)
  const timeout = timeoutOf(options.timeoutMs, 'timeoutMs', DEFAULT_HEAD_TIMEOUT_MS)
  const { clone, token } = parseAccess(access)
  try {
    return await withDeadline(timeout, options.signal, async (signal) => {
      // Runtimes at the edge have no process; there the lookup fails as unreachable rather than with a defect.
      const [environment, nodeVersion] =
        typeof process === 'undefined' ? [{}, undefined] : [process.env, process.versions.node]
      const certificates = await extraCertificates(options.certificateAuthority, environment)
      const credential = token === undefined ? undefined : basicCredential(token)
      return ask({ clone, credential, ref, certificates, environment, nodeVersion, signal })
    })
  } catch (error) {
    if (options.signal?.aborted === true) throw options.signal.reason
    return { status: 'unreachable', reason: reasonOf(error), cause: error }
  }
}

const ask = async (lookup: Lookup): Promise<Head> => {
  const first = await lookupOverHttp(lookup)
  if (first.status !== 'unsupported') return first
  const second: LookupAnswer = await lookupWithGit(lookup)
  if (second.status !== 'unsupported') return second
  // A page in place of a repository is how some hosts answer a credential they no longer accept.
  if (first.answered) return { status: 'refused', code: 'NOT_A_REPOSITORY', reason: first.reason }
  return { status: 'unreachable', reason: `${first.reason}, and ${second.reason}` }
}

/** Our own words or the runtime's code; messages of the runtime can quote what they were given. */
const reasonOf = (error: unknown): string => {
  if (error instanceof DeadlineError || error instanceof CertificateFileError) return error.message
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return `network: ${error.code}`
  return error instanceof Error ? `lookup failed: ${error.name}` : 'lookup failed'
}
