import { plainValues } from '../build/build-environment.ts'
import { RepoTemplateError } from '../errors.ts'
import { findHead } from '../find-head.ts'
import { assertBuildEnvNames, type ResolvedOptions } from '../options.ts'
import { acquireAccess, noRepository, type Repository, type RepositoryAccess } from '../repository-access.ts'

/** What a session asks for as an answer, a sync cannot do without: here it is an error. */
export const requireAccess = async (
  options: ResolvedOptions,
  signal: AbortSignal | undefined,
): Promise<{ access: RepositoryAccess; repository: Repository }> => {
  if (options.getRepositoryAccess === undefined) throw noRepository()
  const answer = await acquireAccess(options.getRepositoryAccess, signal, options)
  if (answer.status === 'granted') return answer
  throw new RepoTemplateError({ code: 'ACCESS_REFUSED', message: answer.reason, cause: answer.cause })
}

export const requireHead = async (
  options: ResolvedOptions,
  access: RepositoryAccess,
  signal: AbortSignal | undefined,
): Promise<{ sha: string; cloneUrl: string }> => {
  if (options.sha !== undefined) return { sha: options.sha, cloneUrl: access.cloneUrl }
  const head = await findHead(options, access, signal)
  if (head.status === 'found') return head
  const refusal = head.status === 'refused' && head.code === 'REF_MISSING' ? 'REF_MISSING' : 'ACCESS_REFUSED'
  throw new RepoTemplateError({
    code: head.status === 'unreachable' ? 'HEAD_UNREACHABLE' : refusal,
    message: `The head of the ${options.selector.description} could not be looked up: ${head.reason}`,
    cause: head.cause,
  })
}

export const requireBuildEnvironment = async (options: ResolvedOptions): Promise<Readonly<Record<string, string>>> => {
  try {
    const buildEnv = await options.buildEnv()
    assertBuildEnvNames(buildEnv)
    return plainValues(buildEnv)
  } catch (cause) {
    if (cause instanceof RepoTemplateError) throw cause
    throw new RepoTemplateError({ code: 'BUILD_ENV_FAILED', message: 'The buildEnv function rejected', cause })
  }
}
