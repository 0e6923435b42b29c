import {
  type BuildEnvValue,
  parseCloneUrl,
  type RepoTemplateIdentity,
  repoTemplateName,
  repoTemplateRef,
} from '@warmbox/identity'
import { createDefaultMountableTemplate, type NamedTemplateSpec, type ResolveContext } from '@warmbox/resolution'
import { plainValues } from './build/build-environment.ts'
import { buildSteps } from './build/build-steps.ts'
import type { Wanted } from './checkout/git-lines.ts'
import { abortable } from './deadline.ts'
import { RepoTemplateError, type RepoTemplateErrorCode } from './errors.ts'
import { findHead } from './find-head.ts'
import { assertBuildEnvNames, type ResolvedOptions } from './options.ts'
import { describeSelector, lineSuffix } from './ref-selector.ts'
import { acquireAccess, type RepositoryAccess, type Repository } from './repository-access.ts'
import { type RepoTemplateSpec, secretSpec } from './secret-spec.ts'

/** A spec with what its maker knows and a resolution does not ask for. */
export type Prepared =
  | { readonly status: 'pinned'; readonly spec: RepoTemplateSpec; readonly sha: string }
  | { readonly status: 'unpinned'; readonly spec: RepoTemplateSpec }
  /** No template of the repository may be booted. `error` says why. */
  | { readonly status: 'refused'; readonly spec: RepoTemplateSpec; readonly error: RepoTemplateError }

/**
 * Turns options into the spec of this moment: asks for access, then for the head and the build variables, and makes
 * the builder. Answers a degraded spec where one of them fails; rejects for malformed input and an aborted signal.
 */
export const prepareSpec = async (options: ResolvedOptions, context: ResolveContext): Promise<Prepared> => {
  const { signal } = context
  const { getRepositoryAccess } = options
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
    const prefix = options.naming.prefix ?? 'mastra-repo'
    return refuse(options, context, `${prefix}-unknown`, 'ACCESS_REFUSED', answer.reason, answer.cause)
  }
  const { access, repository } = answer
  const [head, environment] = await Promise.all([
    options.sha === undefined
      ? findHead(options, access, signal)
      : { status: 'found' as const, sha: options.sha, cloneUrl: access.cloneUrl },
    readBuildEnvironment(options, signal),
  ])
  if (environment.status === 'failed') {
    const name = repoTemplateName({ ...options.identity, cloneUrl: access.cloneUrl }, options.naming)
    return refuse(options, context, name, 'BUILD_ENV_FAILED', environment.reason, environment.cause)
  }
  const identity: RepoTemplateIdentity = {
    ...options.identity,
    cloneUrl: access.cloneUrl,
    buildEnv: environment.buildEnv,
  }
  const name = repoTemplateName(identity, options.naming)
  const suffix = lineSuffix(options.selector)
  const values = plainValues(environment.buildEnv)

  switch (head.status) {
    case 'refused': {
      const code = head.code === 'REF_MISSING' ? 'REF_MISSING' : 'ACCESS_REFUSED'
      return refuse(options, context, name, code, head.reason, head.cause)
    }
    case 'unreachable': {
      const message = `The head of the ${describeSelector(options.selector)} could not be looked up: ${head.reason}`
      if (suffix === undefined) {
        // Nothing moving may stand in for a tag or a pull request.
        return refuse(options, context, name, 'HEAD_UNREACHABLE', message, head.cause)
      }
      const ref = `${name}:current${suffix}`
      context.onEvent?.({ type: 'warning', code: 'HEAD_UNREACHABLE', message, ref })
      const wanted = { sha: undefined, branch: options.selector.kind === 'branch' ? options.selector.name : undefined }
      return {
        status: 'unpinned',
        spec: secretSpec(
          {
            ref,
            buildRef: `${name}:unpinned${suffix}`,
            template: templateOf(options, repository, access.cloneUrl, wanted, values),
            ...common(options),
          },
          secretsOf(repository, values),
        ),
      }
    }
    case 'found': {
      const { sha } = head
      return {
        status: 'pinned',
        sha,
        spec: secretSpec(
          {
            ref: repoTemplateRef({ ...identity, sha }, options.naming),
            template: templateOf(options, repository, head.cloneUrl, { sha }, values),
            ...common(options),
            ...(suffix === undefined || options.sha !== undefined
              ? {}
              : {
                  staleRef: `${name}:current${suffix}`,
                  buildTags: [`current${suffix}`],
                  isCurrent: (during?: AbortSignal) => isHeadStill(options, access, sha, during),
                }),
          },
          secretsOf(repository, values),
        ),
      }
    }
  }
}

type Environment =
  | { readonly status: 'read'; readonly buildEnv: Readonly<Record<string, BuildEnvValue>> }
  | { readonly status: 'failed'; readonly reason: string; readonly cause: unknown }

const readBuildEnvironment = async (
  options: ResolvedOptions,
  signal: AbortSignal | undefined,
): Promise<Environment> => {
  let buildEnv: Readonly<Record<string, BuildEnvValue>>
  try {
    buildEnv = await abortable((async () => options.buildEnv())(), signal)
  } catch (cause) {
    if (signal?.aborted === true) throw signal.reason
    // Without its variables the build would make another image under the same name.
    return { status: 'failed', reason: 'The buildEnv function rejected', cause }
  }
  assertBuildEnvNames(buildEnv)
  return { status: 'read', buildEnv }
}

const isHeadStill = async (
  options: ResolvedOptions,
  access: RepositoryAccess,
  sha: string,
  signal: AbortSignal | undefined,
): Promise<boolean> => {
  const head = await findHead(options, access, signal)
  switch (head.status) {
    case 'found':
      return head.sha === sha
    case 'refused':
      return false
    case 'unreachable':
      throw new RepoTemplateError({
        code: 'HEAD_UNREACHABLE',
        message: `Whether the build is still current is not known: ${head.reason}`,
        cause: head.cause,
      })
  }
}

const templateOf = (
  options: ResolvedOptions,
  repository: Repository,
  cloneUrl: string,
  wanted: Wanted,
  environment: Readonly<Record<string, string>>,
): NamedTemplateSpec['template'] =>
  buildSteps({
    clone: parseCloneUrl(cloneUrl),
    repository: repository.clone.canonical,
    wanted,
    directory: options.workingDirectory ?? `/home/user/${repository.clone.directory}`,
    token: repository.token,
    setupCommands: options.setupCommands,
    environment,
    base: { ...options.resources, nodeVersion: options.nodeVersion },
  })

const common = (options: ResolvedOptions): Pick<NamedTemplateSpec, 'buildResources' | 'fallbackTemplate'> => ({
  buildResources: { ...options.resources },
  ...(options.fallbackTemplate === undefined ? {} : { fallbackTemplate: options.fallbackTemplate }),
})

const secretsOf = (repository: Repository, values: Readonly<Record<string, string>>): readonly string[] => [
  ...(repository.token === undefined ? [] : [repository.token]),
  ...Object.values(values),
]

/** Nothing of it names or contains the repository's code: a reader that does not know `refused` cannot boot it either. */
const refuse = (
  options: ResolvedOptions,
  context: ResolveContext,
  name: string,
  code: RepoTemplateErrorCode,
  message: string,
  cause: unknown,
): Prepared => {
  const ref = `${name}:refused`
  context.onEvent?.({ type: 'warning', code, message, ref })
  return {
    status: 'refused',
    error: new RepoTemplateError({ code, message, ...(cause === undefined ? {} : { cause }) }),
    spec: {
      ref,
      template: createDefaultMountableTemplate({ ...options.resources, nodeVersion: options.nodeVersion }).template,
      refused: { code, message },
      ...common(options),
    },
  }
}
