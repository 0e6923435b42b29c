import { assertSha, isWarmboxError } from '@warmbox/identity'
import type { Head } from './head/head.ts'
import type { ResolvedOptions } from './options.ts'
import type { HostRules, RepositoryAccess } from './repository-access.ts'

/**
 * The head by the configured resolver, whose answer is checked: it ends up in a ref. A resolver that rejects knows
 * nothing; only malformed input is passed on.
 */
export const findHead = async (
  options: Pick<
    ResolvedOptions,
    'selector' | 'certificateAuthority' | 'headTimeoutMs' | 'resolveHead' | keyof HostRules
  >,
  access: RepositoryAccess,
  signal: AbortSignal | undefined,
): Promise<Head> => {
  let head: Head
  try {
    head = await options.resolveHead(access, {
      ...options.selector.selection,
      timeoutMs: options.headTimeoutMs,
      ...(options.allowedHosts === undefined ? {} : { allowedHosts: options.allowedHosts }),
      ...(Object.keys(options.credentialForms).length === 0 ? {} : { credentialForms: options.credentialForms }),
      ...(options.certificateAuthority === undefined ? {} : { certificateAuthority: options.certificateAuthority }),
      ...(signal === undefined ? {} : { signal }),
    })
  } catch (cause) {
    if (signal?.aborted === true) throw signal.reason
    if (isWarmboxError(cause)) throw cause
    return { status: 'unreachable', reason: 'the head resolver rejected', cause }
  }
  return head.status === 'found' ? { ...head, sha: assertSha(head.sha) } : head
}
