import { type BuildEnvValue, repoTemplateName } from '@warmbox/identity'
import type { NamedTemplateSpec, ResolveContext } from '@warmbox/resolution'
import { abortable } from './deadline.ts'
import { RepoTemplateError, type RepoTemplateErrorCode } from './errors.ts'
import { findHead } from './find-head.ts'
import { pinnedSpec, refusedSpec, unpinnedSpec } from './named-spec.ts'
import { assertBuildEnvNames, type ResolvedOptions } from './options.ts'
import { acquireAccess, type RepositoryAccess } from './repository-access.ts'

/** A spec with what its maker knows and a resolution does not ask for. */
export type Prepared =
  | { readonly status: 'pinned'; readonly spec: NamedTemplateSpec; readonly sha: string }
  | { readonly status: 'unpinned'; readonly spec: NamedTemplateSpec }
  /** No template of the repository may be booted. `error` says why. */
  | { readonly status: 'refused'; readonly spec: NamedTemplateSpec; readonly error: RepoTemplateError }

/**
 * Turns options into the spec of this moment: asks for access, then for the head and the build variables, and makes
 * the builder. Answers a degraded spec where one of them fails; rejects for malformed input and an aborted signal.
 */
export const prepareSpec = async (options: ResolvedOptions, context: ResolveContext): Promise<Prepared> => {
  const { getRepositoryAccess, selector } = options
  const { signal } = context
  if (getRepositoryAccess === undefined) {
    throw new RepoTemplateError({
      code: 'NO_REPOSITORY',
      field: 'getRepositoryAccess',
      message: 'There is no repository: getRepositoryAccess is undefined',
    })
  }
  signal?.throwIfAborted()
  const answer = await acquireAccess(getRepositoryAccess, signal)
  if (answer.status === 'refused') {
    const name = `${options.naming.prefix ?? 'mastra-repo'}-unknown`
    return refuse(options, context, name, { code: 'ACCESS_REFUSED', message: answer.reason, cause: answer.cause })
  }
  const { access, repository } = answer
  const naming = async () => {
    const environment = await readBuildEnvironment(options, signal)
    const identity = { ...options.identity, cloneUrl: access.cloneUrl, buildEnv: environment.buildEnv }
    const name = repoTemplateName(identity, options.naming)
    // The name needs no commit, so the template's tags can be read while the head is looked up.
    if (environment.failure === undefined) context.expectName?.(name)
    return { environment, identity, name }
  }
  const [head, { environment, identity, name }] = await Promise.all([
    options.sha === undefined
      ? findHead(options, access, signal)
      : { status: 'found' as const, sha: options.sha, cloneUrl: access.cloneUrl },
    naming(),
  ])
  if (environment.failure !== undefined) return refuse(options, context, name, environment.failure)

  const inputs = { options, repository, identity }
  if (head.status === 'found') {
    const isCurrent = (during?: AbortSignal) => isHeadStill(options, access, head.sha, during)
    const spec = pinnedSpec(inputs, head, options.sha === undefined ? isCurrent : undefined)
    return { status: 'pinned', sha: head.sha, spec }
  }
  if (head.status === 'refused') {
    const code = head.code === 'REF_MISSING' ? 'REF_MISSING' : 'ACCESS_REFUSED'
    return refuse(options, context, name, { code, message: head.reason, cause: head.cause })
  }
  const code = 'HEAD_UNREACHABLE'
  const message = `The head of the ${selector.description} could not be looked up: ${head.reason}`
  if (selector.lineSuffix === undefined) {
    // Nothing that moves may stand in for a tag or a pull request.
    return refuse(options, context, name, { code, message, cause: head.cause })
  }
  const spec = unpinnedSpec(inputs, selector.lineSuffix)
  context.onEvent?.({ type: 'warning', code, message, ref: spec.ref })
  return { status: 'unpinned', spec }
}

interface Refusal {
  readonly code: RepoTemplateErrorCode
  readonly message: string
  readonly cause: unknown
}

const refuse = (
  options: ResolvedOptions,
  context: ResolveContext,
  name: string,
  { code, message, cause }: Refusal,
): Prepared => {
  const spec = refusedSpec(options, name, { code, message })
  context.onEvent?.({ type: 'warning', code, message, ref: spec.ref })
  return { status: 'refused', spec, error: new RepoTemplateError({ code, message, cause }) }
}

interface BuildEnvironment {
  readonly buildEnv: Readonly<Record<string, BuildEnvValue>>
  readonly failure: Refusal | undefined
}

const readBuildEnvironment = async (
  options: ResolvedOptions,
  signal: AbortSignal | undefined,
): Promise<BuildEnvironment> => {
  let buildEnv: BuildEnvironment['buildEnv']
  try {
    // The function may throw before it has a promise.
    buildEnv = await abortable((async () => options.buildEnv())(), signal)
  } catch (cause) {
    if (signal?.aborted === true) throw signal.reason
    // Without its variables the build would make another image under the same name.
    const failure = { code: 'BUILD_ENV_FAILED', message: 'The buildEnv function rejected', cause } as const
    return { buildEnv: {}, failure }
  }
  assertBuildEnvNames(buildEnv)
  return { buildEnv, failure: undefined }
}

/** Asked again with the same access: the answer decides whether `current` moves, so it may not be guessed. */
const isHeadStill = async (
  options: ResolvedOptions,
  access: RepositoryAccess,
  sha: string,
  signal: AbortSignal | undefined,
): Promise<boolean> => {
  const head = await findHead(options, access, signal)
  if (head.status !== 'unreachable') return head.status === 'found' && head.sha === sha
  throw new RepoTemplateError({
    code: 'HEAD_UNREACHABLE',
    message: `Whether the build is still current is not known: ${head.reason}`,
    cause: head.cause,
  })
}
