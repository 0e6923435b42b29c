import type { NamedTemplateSpec, ResolveContext } from '@warmbox/resolution'
import { RepoTemplateError } from './errors.ts'
import { findHead } from './find-head.ts'
import { gatherImageInputs, type Refusal } from './image-inputs.ts'
import { lineOf, movingSpec, pinnedSpec, refusedSpec, unpinnedSpec } from './named-spec.ts'
import type { ResolvedOptions } from './options.ts'
import { isYoungEnough } from './stale-build.ts'
import { acquireAccess, noRepository, type RepositoryAccess } from './repository-access.ts'

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
    throw noRepository()
  }
  signal?.throwIfAborted()
  const answer = await acquireAccess(getRepositoryAccess, signal, options)
  if (answer.status === 'refused') {
    const name = `${options.naming.prefix ?? 'mastra-repo'}-unknown`
    return refuse(options, context, name, { code: 'ACCESS_REFUSED', message: answer.reason, cause: answer.cause })
  }
  const { access, repository } = answer
  const gathering = async () => {
    const gathered = await gatherImageInputs(options, access.cloneUrl, signal)
    // The name needs no commit, so the template's tags can be read while the head is looked up.
    if (gathered.status === 'ready') context.expectName?.(gathered.name)
    return gathered
  }
  const [head, image] = await Promise.all([
    options.sha === undefined
      ? findHead(options, access, signal)
      : { status: 'found' as const, sha: options.sha, cloneUrl: access.cloneUrl },
    gathering(),
  ])
  const { name } = image
  if (image.status === 'failed') return refuse(options, context, name, image.failure)

  const inputs = { options, repository, image }
  if (head.status === 'found') {
    if (options.sha !== undefined || !selector.hasMovingTags) {
      return { status: 'pinned', sha: head.sha, spec: pinnedSpec(inputs, head) }
    }
    const line = lineOf(options, selector.lineSuffix)
    const stale = { name, current: line.current, wanted: `sha-${head.sha}${selector.lineSuffix}` }
    const spec = movingSpec(inputs, head, line, {
      isCurrent: (during) => isHeadStill(options, access, head.sha, during),
      bootsStale: await isYoungEnough(stale, options.maxStaleMs, context),
    })
    return { status: 'pinned', sha: head.sha, spec }
  }
  if (head.status === 'refused') {
    const code = head.code === 'REF_MISSING' ? 'REF_MISSING' : 'ACCESS_REFUSED'
    return refuse(options, context, name, { code, message: head.reason, cause: head.cause })
  }
  const code = 'HEAD_UNREACHABLE'
  const message = `The head of the ${selector.description} could not be looked up: ${head.reason}`
  if (!selector.hasMovingTags) {
    // Nothing that moves may stand in for a tag or a pull request.
    return refuse(options, context, name, { code, message, cause: head.cause })
  }
  const spec = unpinnedSpec(inputs, selector.lineSuffix)
  context.onEvent?.({ type: 'warning', code, message, ref: spec.ref })
  return { status: 'unpinned', spec }
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
