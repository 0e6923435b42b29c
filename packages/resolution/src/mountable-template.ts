import { DEFAULT_APT_PACKAGES, DEFAULT_NODE_VERSION, mountableTemplateId, resolveResources } from '@warmbox/identity'
import { Template, type TemplateBuilder } from 'e2b'
import { appendMountableSteps } from './mountable-steps.ts'
import { checked } from './refs.ts'
import type { TemplateResources } from './spec.ts'

/** What the default mountable template can be asked for. */
export interface MountableTemplateOptions extends TemplateResources {
  /** Exact Node.js version, `MAJOR.MINOR.PATCH`. Part of the template's identity. Default 24.20.0. */
  nodeVersion?: string
}

/** The default mountable template, ready to be built as `<id>:default`. */
export interface MountableTemplateResult {
  template: TemplateBuilder
  /** Deterministic bare name, `mastra-<hash>`. Ask and build it with a tag: `<id>:default`. */
  id: string
  /** apt packages the template installs. */
  aptPackages: string[]
  /** Size that is part of `id`. Give it to the build, so that name and machine agree. */
  resources: Required<TemplateResources>
}

interface Contents {
  readonly id: string
  readonly nodeVersion: string
  readonly aptPackages: readonly string[]
  readonly resources: Required<TemplateResources>
}

function resolveContents(options: MountableTemplateOptions): Contents {
  const { nodeVersion = DEFAULT_NODE_VERSION } = options
  const aptPackages = DEFAULT_APT_PACKAGES
  return checked('The default mountable template', () => {
    const resources = resolveResources({ cpuCount: options.cpuCount, memoryMB: options.memoryMB })
    const id = mountableTemplateId({ nodeVersion, aptPackages, ...resources })
    return Object.freeze({ id, nodeVersion, aptPackages, resources })
  })
}

/**
 * Appends the steps of the default mountable template to a builder: s3fs and fuse, the pinned Node.js over the image's
 * own, corepack enabled. A step whose result is there already does nothing.
 * @throws ResolutionError `INVALID_SPEC` for a version or size that cannot be built.
 */
export const applyMountableSteps = (base: TemplateBuilder, options: MountableTemplateOptions = {}): TemplateBuilder =>
  appendMountableSteps(base, resolveContents(options))

/**
 * The template a session gets when nothing else is asked for or works: E2B's base image able to mount object stores,
 * with a pinned Node.js and corepack. Each call makes a new builder, since builders change when they are extended.
 * @throws ResolutionError `INVALID_SPEC` for a version or size that cannot be built.
 */
export function createDefaultMountableTemplate(options: MountableTemplateOptions = {}): MountableTemplateResult {
  const contents = resolveContents(options)
  return {
    template: appendMountableSteps(Template().fromBaseImage(), contents),
    id: contents.id,
    aptPackages: [...contents.aptPackages],
    resources: { ...contents.resources },
  }
}
