import { type CloneUrl, parseCloneUrl, repoTemplateRef } from '@warmbox/identity'
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

/** A commit, and where it is cloned from. */
export interface FoundCommit {
  readonly sha: string
  readonly cloneUrl: string
}

/** Of a commit that stands for itself: nothing moves for it, and nothing earlier stands in for it. */
export const pinnedSpec = (inputs: SpecInputs, found: FoundCommit): NamedTemplateSpec =>
  withSecrets(inputs, commitSpec(inputs, found))

/** Of a commit that is the head of a line. `isCurrent` is asked before the line's tags move to its build. */
export const movingSpec = (
  inputs: SpecInputs,
  found: FoundCommit,
  line: Line,
  {
    isCurrent,
    bootsStale,
  }: { readonly isCurrent: NonNullable<NamedTemplateSpec['isCurrent']>; readonly bootsStale: boolean },
): NamedTemplateSpec =>
  withSecrets(inputs, {
    ...commitSpec(inputs, found),
    ...(bootsStale ? { staleRef: `${inputs.image.name}:${line.current}` } : {}),
    buildTags: [line.current],
    incremental: incrementalOf(inputs, found, line),
    isCurrent,
  })

/** The name and the commit's tag of the line that was asked for. */
export const commitRef = ({ options: { naming, selector }, image }: SpecInputs, sha: string): string =>
  `${repoTemplateRef({ ...image.identity, sha }, naming)}${selector.lineSuffix}`

const commitSpec = (inputs: SpecInputs, { sha, cloneUrl }: FoundCommit): NamedTemplateSpec => ({
  ref: commitRef(inputs, sha),
  template: templateOf(inputs, cloneUrl, { sha }),
  ...common(inputs.options),
})

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
  lineSuffix,
  cleanEvery,
})

const incrementalOf = (inputs: SpecInputs, { sha, cloneUrl }: FoundCommit, line: Line): IncrementalBuilds => ({
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
    clone: parseCloneUrl(spelledAlike(parseCloneUrl(cloneUrl))),
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

/**
 * URLs of one name differ in nothing but `.git` then, so that spellings of one image do not. Whether a host answers without
 * it, or with it, only who gave the URL knows.
 */
const spelledAlike = ({ canonical, cloneUrl }: CloneUrl): string =>
  /\.git\/*$/.test(cloneUrl) ? `${canonical}.git` : canonical

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
