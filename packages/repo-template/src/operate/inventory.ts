import type { BuildState, BuildSummary, TagAssignment, TemplateApi } from '@warmbox/resolution'
import { parseCommitTag } from '../commit-tag.ts'

/** What the platform has under a template's name. */
export interface Inventory {
  readonly templateId: string
  /** The newest assignment of each tag. */
  readonly tags: readonly TagAssignment[]
  /** Newest first. */
  readonly builds: readonly BuildSummary[]
  readonly stateOf: (buildId: string) => BuildState | undefined
}

/** Tags and builds of a template; undefined where the account has none of this name. */
export const takeInventory = async (
  api: TemplateApi,
  name: string,
  signal: AbortSignal | undefined,
): Promise<Inventory | undefined> => {
  const templateId = await api.templateId(name, signal)
  if (templateId === undefined) return undefined
  const [tags, builds] = await Promise.all([api.tags(name, signal), api.listBuilds(templateId, signal)])
  if (tags === undefined) return undefined
  const states = new Map(builds.map(({ buildId, state }) => [buildId, state]))
  return {
    templateId,
    tags,
    builds: builds.toSorted((left, right) => right.createdAt.getTime() - left.createdAt.getTime()),
    stateOf: (buildId) => states.get(buildId),
  }
}

/** The commit in a commit's tag. */
export const commitOf = (tag: string): string | undefined => parseCommitTag(tag)?.sha
