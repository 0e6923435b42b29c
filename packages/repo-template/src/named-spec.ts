import { parseCloneUrl, repoTemplateRef } from '@warmbox/identity'
import { createDefaultMountableTemplate, type IncrementalBuilds, type NamedTemplateSpec } from '@warmbox/resolution'
import { Template, type TemplateBuilder } from 'e2b'
import { plainValues } from './build/build-environment.ts'
import { appendBuildSteps, appendIncrementalSteps, type BuildPlan } from './build/build-steps.ts'
import { type Line, parentBuildOf } from './build/incremental-parent.ts'
import type { Wanted } from './checkout/git-lines.ts'
import type { ImageInputs } from './image-inputs.ts'
import type { ResolvedOptions } from './options.ts'
import type { Repository } from './repository-access.ts'
import { secretSpec } from './secret-spec.ts'
import { withFilesOnDemand } from './upload/files-on-demand.ts'
import { CLONED, makeUpload } from './upload/host-clone.ts'

/** Everything a spec is made from, once it has been asked for. */
export interface SpecInputs {
  readonly options: ResolvedOptions
  readonly repository: Repository
  readonly image: Extract<ImageInputs, { status: 'ready' }>
}

/** Of a known commit. `isCurrent` is asked before `current` moves to it; absent, nothing moves and nothing is stale. */
export const pinnedSpec = (
  inputs: SpecInputs,
  found: { readonly sha: string; readonly cloneUrl: string },
  isCurrent: ((signal?: AbortSignal) => Promise<boolean>) | undefined,
): NamedTemplateSpec => {
  const { image, options } = inputs
  const { identity, name } = image
  const { lineSuffix } = options.selector
  return withSecrets(inputs, {
    ref: repoTemplateRef({ ...identity, sha: found.sha }, options.naming),
    template: templateOf(inputs, found.cloneUrl, { sha: found.sha }),
    ...common(options),
    ...(lineSuffix === undefined || isCurrent === undefined
      ? {}
      : {
          staleRef: `${name}:current${lineSuffix}`,
          buildTags: [`current${lineSuffix}`],
          incremental: incrementalOf(inputs, found, lineOf(options, lineSuffix)),
          isCurrent,
        }),
  })
}

/** Of a head nobody could name: what is there is booted; what is built must not pass for a commit. */
export const unpinnedSpec = (inputs: SpecInputs, lineSuffix: string): NamedTemplateSpec => {
  const { image, options } = inputs
  const { identity, name } = image
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

/** The moving tags of the line a selector means. */
export const lineOf = ({ cleanEvery }: Pick<ResolvedOptions, 'cleanEvery'>, lineSuffix: string): Line => ({
  current: `current${lineSuffix}`,
  clean: `clean${lineSuffix}`,
  cleanEvery,
})

const incrementalOf = (
  inputs: SpecInputs,
  { sha, cloneUrl }: { readonly sha: string; readonly cloneUrl: string },
  line: Line,
): IncrementalBuilds => ({
  from: (tags) => {
    const buildId = parentBuildOf(tags, line)
    if (buildId === undefined) return undefined
    // By its id, so that it is this one even where the tag moves meanwhile.
    const parent = `${inputs.image.name}:${buildId}`
    const { uploadDirectory } = inputs.image
    const builder = Template(uploadDirectory === undefined ? undefined : { fileContextPath: uploadDirectory })
    const plan = { ...planOf(inputs, cloneUrl, { sha }), wanted: { sha } }
    const template = appendIncrementalSteps(builder.fromTemplate(parent), plan)
    return { parent, template: withUpload(inputs, plan, template) }
  },
  cleanTags: [line.clean],
})

const templateOf = (inputs: SpecInputs, cloneUrl: string, wanted: Wanted): TemplateBuilder => {
  const plan = planOf(inputs, cloneUrl, wanted)
  return withUpload(inputs, plan, appendBuildSteps(inputs.image.base, plan))
}

const planOf = ({ options, repository, image }: SpecInputs, cloneUrl: string, wanted: Wanted): BuildPlan => {
  const { submodules, lfs, cloneTimeoutMs, setupCommands } = options
  return {
    clone: parseCloneUrl(cloneUrl),
    wanted,
    credential: repository.credential,
    parts: { submodules, lfs },
    cloneTimeoutMs,
    repository: repository.clone.canonical,
    source: image.uploadDirectory === undefined ? { kind: 'clone' } : { kind: 'upload', copied: CLONED },
    directory: options.workingDirectory ?? `/home/user/${repository.clone.directory}`,
    setupCommands,
    environment: plainValues(image.identity.buildEnv),
  }
}

const withUpload = (
  { options, repository, image }: SpecInputs,
  { clone, wanted, credential, parts, cloneTimeoutMs }: BuildPlan,
  template: TemplateBuilder,
): TemplateBuilder => {
  const { uploadDirectory } = image
  if (uploadDirectory === undefined) return template
  const { allowedHosts, certificateAuthority } = options
  const secrets = repository.token === undefined ? [] : [repository.token]
  const checkout = { clone, wanted, credential, parts, timeoutMs: cloneTimeoutMs }
  return withFilesOnDemand(template, (signal) =>
    makeUpload({ ...checkout, allowedHosts, certificateAuthority, secrets }, uploadDirectory, signal),
  )
}

const common = (options: ResolvedOptions): Pick<NamedTemplateSpec, 'buildResources' | 'fallbackTemplate'> => ({
  buildResources: { ...options.resources },
  ...(options.fallbackTemplate === undefined ? {} : { fallbackTemplate: options.fallbackTemplate }),
})

const withSecrets = ({ image: { identity }, repository }: SpecInputs, spec: NamedTemplateSpec): NamedTemplateSpec =>
  secretSpec(spec, [
    ...(repository.token === undefined ? [] : [repository.token]),
    ...Object.values(plainValues(identity.buildEnv)),
  ])
