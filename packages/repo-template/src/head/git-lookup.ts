import type { CloneUrl } from '@warmbox/identity'
import { type HostGit, UnpinnedGitError, withHostGit } from '../host-git.ts'
import { ADVERTISEMENT_TYPE } from './advertisement.ts'
import { createTraceReader, type TracedAnswer } from './git-trace.ts'
import { notARepository, outcomeOfStatus } from './http-status.ts'
import { type Lookup, type LookupAnswer, refMissing } from './lookup.ts'
import { redirectedAway, sameOriginTarget } from './redirect.ts'

const traced = Object.freeze({ GIT_TRACE_CURL: '1', GIT_TRACE_CURL_NO_DATA: '1' })

/**
 * Asks with `git ls-remote`, for what one request cannot do: a proxy the runtime does not know, a server that only
 * speaks the dumb protocol, an unusual answer. Git itself follows no redirect; one on the same origin is followed here,
 * once. Which kind of failure it was is read from the statuses in git's protocol trace, never from its messages.
 */
export const lookupWithGit = async (lookup: Lookup): Promise<LookupAnswer> => {
  try {
    return await withHostGit({ ...lookup, settings: [['protocol.version', '0']] }, async (git) => {
      const first = await askRemote(git, lookup.clone, lookup.ref)
      if (first.status !== 'redirected') return first
      const target = sameOriginTarget(lookup.clone, first.location)
      if (target === undefined) return redirectedAway
      const second = await askRemote(git, target, lookup.ref)
      return second.status === 'redirected' ? outcomeOfStatus(second.code) : second
    })
  } catch (error) {
    if (error instanceof UnpinnedGitError) return { status: 'unsupported', reason: error.message, answered: false }
    throw error
  }
}

type RemoteAnswer =
  | LookupAnswer
  | { readonly status: 'redirected'; readonly code: number; readonly location: string | undefined }

const askRemote = async (git: HostGit, clone: CloneUrl, ref: string): Promise<RemoteAnswer> => {
  const trace = createTraceReader()
  const patterns = ref.startsWith('refs/tags/') ? [ref, `${ref}^{}`] : [ref]
  const result = await git.run(['ls-remote', clone.cloneUrl, ...patterns], {
    variables: traced,
    onError: (text) => trace.read(text),
  })
  if (result.kind === 'missing') return { status: 'unsupported', reason: 'git is not installed', answered: false }
  if (result.exitCode !== 0) return failureOf(trace.lastAnswer, result.exitCode)
  const refs = new Map(
    result.output.split('\n').map((line) => [line.slice(line.indexOf('\t') + 1), line.split('\t', 1)[0]]),
  )
  const sha = refs.get(`${ref}^{}`) ?? refs.get(ref)
  if (sha !== undefined) return { status: 'found', sha, cloneUrl: clone.cloneUrl }
  // To git, whatever is not of the smart protocol is a list of refs, and a short page is an empty one.
  return trace.lastAnswer?.contentType === ADVERTISEMENT_TYPE ? refMissing(ref) : notARepository
}

const failureOf = (answer: TracedAnswer | undefined, exitCode: number): RemoteAnswer => {
  if (answer === undefined) return { status: 'unreachable', reason: `git ended with exit code ${exitCode}` }
  // What a proxy says is no word of the host's about this repository.
  if (answer.from === 'proxy') return { status: 'unreachable', reason: `the proxy answered ${answer.status}` }
  return answer.status >= 300 && answer.status < 400
    ? { status: 'redirected', code: answer.status, location: answer.location }
    : outcomeOfStatus(answer.status)
}
