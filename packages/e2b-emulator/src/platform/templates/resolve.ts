import { notFound } from '../api-error.ts'
import type { Platform } from '../platform.ts'
import type { BuildRecord, PlatformState, ReadyBuild, TemplateRecord } from '../state.ts'
import { DEFAULT_TAG, isUuid, type TemplateRef } from '../template-ref.ts'
import { rememberedBuild } from './tag-cache.ts'

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
  const ready = rememberedBuild(platform, template.id, tag, () => findReadyBuild(platform.state, template, tag))
  if (ready === undefined) throw notFound(`tag '${tag}' does not exist for template '${shown}'`)
  return { template, ...ready }
}

/** Whether a tag leads to the build; one without any is out of reach. */
export const isTagged = (template: TemplateRecord, build: BuildRecord): boolean =>
  template.assignments.some(({ buildId }) => buildId === build.id)

/** The newest assignment of each tag, whatever became of its build. */
export function newestAssignments(template: TemplateRecord) {
  return [...new Map(template.assignments.map((assignment) => [assignment.tag, assignment])).values()]
}

/** Its name with the namespace; the id of a template without a name. */
export const qualifiedName = ({ namespace, name, id }: TemplateRecord): string =>
  name === undefined ? id : namespace === null ? name : `${namespace}/${name}`

/** What the contract calls `names` and `aliases`: one each, or none. */
export const namesOf = (template: TemplateRecord) =>
  template.name === undefined
    ? { names: [], aliases: [] }
    : { names: [qualifiedName(template)], aliases: [template.name] }
