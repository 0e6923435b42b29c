import { assertSha, isWarmboxError, parseCloneUrl } from '@warmbox/identity'
import { DeadlineError, withDeadline } from './deadline.ts'
import { RepoTemplateError } from './errors.ts'
import type { Head } from './head/head.ts'
import type { ResolvedOptions } from './options.ts'
import type { HostRules, RepositoryAccess } from './repository-access.ts'

/**
 * The head by the configured resolver, which is held to the time and the signal whether it heeds them or not, and whose
 * answer is checked: the commit ends up in a ref, and the credential goes to where the clone URL leads. A resolver that
 * rejects, or is late, knows nothing; only malformed input is passed on.
 *
 * @throws RepoTemplateError `HEAD_INVALID` for an answer that is no head; IdentityError for a commit or clone URL that is
 * none; the signal's reason.
 */
export const findHead = async (
  options: Pick<
    ResolvedOptions,
    'selector' | 'certificateAuthority' | 'headTimeoutMs' | 'resolveHead' | keyof HostRules
  >,
  access: RepositoryAccess,
  caller: AbortSignal | undefined,
): Promise<Head> => {
  let answer: unknown
  try {
    answer = await withDeadline(options.headTimeoutMs, caller, async (signal) =>
      options.resolveHead(access, {
        ...options.selector.selection,
        timeoutMs: options.headTimeoutMs,
        ...(options.allowedHosts === undefined ? {} : { allowedHosts: options.allowedHosts }),
        ...(Object.keys(options.credentialForms).length === 0 ? {} : { credentialForms: options.credentialForms }),
        ...(options.certificateAuthority === undefined ? {} : { certificateAuthority: options.certificateAuthority }),
        signal,
      }),
    )
  } catch (cause) {
    if (caller?.aborted === true) throw caller.reason
    if (isWarmboxError(cause)) throw cause
    const reason = cause instanceof DeadlineError ? cause.message : 'the head resolver rejected'
    return { status: 'unreachable', reason, cause }
  }
  if (!isHead(answer)) {
    throw new RepoTemplateError({
      code: 'HEAD_INVALID',
      field: 'resolveHead',
      message: 'resolveHead answered something that is no head',
      hint: "Answer { status: 'found', sha, cloneUrl }, or { status: 'unreachable' or 'refused', reason }.",
    })
  }
  if (answer.status !== 'found') return answer
  const sha = assertSha(answer.sha)
  return isOfOrigin(answer.cloneUrl, access.cloneUrl) ? { ...answer, sha } : elsewhere
}

const elsewhere: Head = Object.freeze({
  status: 'refused',
  code: 'REDIRECTED',
  reason: 'the head was found at another origin than the one access was given for',
})

/** The credential was given for one origin, and so was what `allowedHosts` allows. */
const isOfOrigin = (found: string, granted: string): boolean =>
  parseCloneUrl(found).origin === parseCloneUrl(granted).origin

/** What it says a found head has is checked next. A status nobody knows must not pass for an unreachable host. */
const isHead = (answer: unknown): answer is Head => {
  if (typeof answer !== 'object' || answer === null || !('status' in answer)) return false
  if (answer.status === 'found') return 'sha' in answer && 'cloneUrl' in answer
  return (answer.status === 'unreachable' || answer.status === 'refused') && 'reason' in answer
}
