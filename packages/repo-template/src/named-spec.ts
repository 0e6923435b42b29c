import { parseCloneUrl, type RepoTemplateIdentity, repoTemplateName, repoTemplateRef } from '@warmbox/identity'
import { createDefaultMountableTemplate, type NamedTemplateSpec } from '@warmbox/resolution'
import { plainValues } from './build/build-environment.ts'
import { buildSteps } from './build/build-steps.ts'
import type { Wanted } from './checkout/git-lines.ts'
import type { ResolvedOptions } from './options.ts'
import type { Repository } from './repository-access.ts'
import { secretSpec } from './secret-spec.ts'

/** Everything a spec is made from, once it has been asked for. */
export interface SpecInputs {
  readonly options: ResolvedOptions
  readonly repository: Repository
  readonly identity: RepoTemplateIdentity & { readonly buildEnv: NonNullable<RepoTemplateIdentity['buildEnv']> }
}

/** Of a known commit. `isCurrent` is asked before `current` moves to it; absent, nothing moves and nothing is stale. */
export const pinnedSpec = (
  inputs: SpecInputs,
  found: { readonly sha: string; readonly cloneUrl: string },
  isCurrent: ((signal?: AbortSignal) => Promise<boolean>) | undefined,
): NamedTemplateSpec => {
  const { identity, options } = inputs
  const { lineSuffix } = options.selector
  return withSecrets(inputs, {
    ref: repoTemplateRef({ ...identity, sha: found.sha }, options.naming),
    template: templateOf(inputs, found.cloneUrl, { sha: found.sha }),
    ...common(options),
    ...(lineSuffix === undefined || isCurrent === undefined
      ? {}
      : {
          staleRef: `${repoTemplateName(identity, options.naming)}:current${lineSuffix}`,
          buildTags: [`current${lineSuffix}`],
          isCurrent,
        }),
  })
}

/** Of a head nobody could name: what is there is booted; what is built must not pass for a commit. */
export const unpinnedSpec = (inputs: SpecInputs, lineSuffix: string): NamedTemplateSpec => {
  const { identity, options } = inputs
  const name = repoTemplateName(identity, options.naming)
  return withSecrets(inputs, {
    ref: `${name}:current${lineSuffix}`,
    buildRef: `${name}:unpinned${lineSuffix}`,
    template: templateOf(inputs, identity.cloneUrl, { sha: undefined, branch: options.selector.selection.branch }),
    ...common(options),
  })
}

/** Nothing of it names or contains the repository's code: a reader that does not know `refused` cannot boot it either. */
export const refusedSpec = (
  options: ResolvedOptions,
  name: string,
  refused: { readonly code: string; readonly message: string },
): NamedTemplateSpec => ({
  ref: `${name}:refused`,
  template: createDefaultMountableTemplate({ ...options.resources, nodeVersion: options.nodeVersion }).template,
  refused: { ...refused },
  ...common(options),
})

const templateOf = (
  { options, repository, identity }: SpecInputs,
  cloneUrl: string,
  wanted: Wanted,
): NamedTemplateSpec['template'] =>
  buildSteps({
    clone: parseCloneUrl(cloneUrl),
    repository: repository.clone.canonical,
    wanted,
    directory: options.workingDirectory ?? `/home/user/${repository.clone.directory}`,
    token: repository.token,
    setupCommands: options.setupCommands,
    environment: plainValues(identity.buildEnv),
    base: { ...options.resources, nodeVersion: options.nodeVersion },
  })

const common = (options: ResolvedOptions): Pick<NamedTemplateSpec, 'buildResources' | 'fallbackTemplate'> => ({
  buildResources: { ...options.resources },
  ...(options.fallbackTemplate === undefined ? {} : { fallbackTemplate: options.fallbackTemplate }),
})

const withSecrets = ({ identity, repository }: SpecInputs, spec: NamedTemplateSpec): NamedTemplateSpec =>
  secretSpec(spec, [
    ...(repository.token === undefined ? [] : [repository.token]),
    ...Object.values(plainValues(identity.buildEnv)),
  ])
