import { notFound } from '../api-error.ts'
import type { Platform } from '../platform.ts'
import type { BuildArtifact, BuildRecord, PlatformState, TemplateRecord } from '../state.ts'
import { DEFAULT_TAG, isUuid, type TemplateRef } from '../template-ref.ts'

/** The template a reference names: the team's own, then promoted public names, then a literal template id. */
export function findTemplate(platform: Platform, ref: TemplateRef): TemplateRecord | undefined {
  const templates = [...platform.state.templates.values()]
  const named = (namespace: string | null) =>
    templates.find((template) => template.namespace === namespace && template.name === ref.name)
  if (ref.namespace !== undefined) return named(ref.namespace)
  return named(platform.team.slug) ?? named(null) ?? platform.state.templates.get(ref.name)
}

/** The build a tag stands for: the newest assignment whose build is ready. A UUID in place of a tag names a build. */
export function findReadyBuild(state: PlatformState, template: TemplateRecord, tag: string): ReadyBuild | undefined {
  const wanted = isUuid(tag)
    ? template.assignments.filter(({ buildId }) => buildId === tag)
    : template.assignments.filter((assignment) => assignment.tag === tag)
  for (const { buildId } of wanted.toReversed()) {
    const build = state.builds.get(buildId)
    if (build?.state.status === 'ready') return { build, artifact: build.state.artifact }
  }
  return undefined
}

export interface ReadyBuild {
  readonly build: BuildRecord
  readonly artifact: () => Promise<BuildArtifact>
}

/** What a sandbox or a child template starts from; 404 where there is nothing to boot. Foreign private templates read as missing. */
export function bootableBuild(
  platform: Platform,
  ref: TemplateRef,
): ReadyBuild & { readonly template: TemplateRecord } {
  const template = findTemplate(platform, ref)
  const shown = ref.namespace === undefined ? ref.name : `${ref.namespace}/${ref.name}`
  if (template === undefined || (template.owner === 'other' && !template.public)) {
    throw notFound(`template '${shown}' not found`)
  }
  const tag = ref.tag ?? DEFAULT_TAG
  const ready = findReadyBuild(platform.state, template, tag)
  if (ready === undefined) throw notFound(`tag '${tag}' does not exist for template '${shown}'`)
  return { template, ...ready }
}

/** The newest assignment of each tag, whatever became of its build. */
export function newestAssignments(template: TemplateRecord) {
  return [...new Map(template.assignments.map((assignment) => [assignment.tag, assignment])).values()]
}

export const qualifiedName = (template: TemplateRecord): string =>
  template.namespace === null ? template.name : `${template.namespace}/${template.name}`
