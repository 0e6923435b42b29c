import { type TagAssignment, type TemplateApi } from '@warmbox/resolution'
import type { ConnectionOpts } from 'e2b'
import { countOf } from '../count.ts'
import { RepoTemplateError } from '../errors.ts'
import { assertConnection, assertKnownKeys, assertObject } from '../known-keys.ts'
import { openTemplateApi } from '../open-template-api.ts'
import { type RepoTemplateOptions, type ResolvedOptions, resolveOptions } from '../options.ts'
import { commitOf, type Inventory, takeInventory } from './inventory.ts'
import { locateTemplate } from './locate.ts'
import { decidePruning, type PruneDecision, type PruneRules } from './prune-decisions.ts'

/** Which tags stay, and whether the others are removed. */
export interface PruneOptions {
  /** So many commits stay, the newest, whatever became of their builds. Default 10. */
  readonly keepLast?: number | undefined
  /** Milliseconds; of the other commits those stay that were requested within them. Default: none of them. */
  readonly maxAgeMs?: number | undefined
  /** Only say what would be removed. Default `true`. */
  readonly dryRun?: boolean | undefined
}

/** What became, or would become, of one repository's template. */
export type PruneResult =
  | {
      readonly status: 'pruned'
      readonly name: string
      readonly dryRun: boolean
      /** One for each tag, newest first. */
      readonly decisions: readonly PruneDecision[]
      /** Removed for good; empty in a dry run. Less than decided where a tag was moved meanwhile. */
      readonly removed: readonly string[]
    }
  /** Nothing is known to have been removed; a removal that was not answered may have happened all the same. */
  | { readonly status: 'failed'; readonly dryRun: boolean; readonly error: unknown }
  /** The signal was aborted before it ended, or began. */
  | { readonly status: 'aborted'; readonly dryRun: boolean }

const DEFAULT_KEEP_LAST = 10

/**
 * Removes the tags of commits that nobody needs any more from a repository's template: not the newest ones, not those
 * whose build `current`, `clean` or any other moving tag points to, not those of running builds, nor those that decide
 * when the next build from nothing is due. A dry run by default; every decision says why.
 *
 * A tag goes with its whole history, and a build whose last tag went can never be reached again. Sandboxes that run or
 * are paused are not touched; a session at a removed commit builds it again. Whether E2B frees the space it does not say.
 *
 * @returns one result for each repository, in the order given; one that fails, for the reasons {@link describeRepoTemplate}
 * does, keeps no other from being pruned, and never rejects, nor does an abort.
 * @throws RepoTemplateError or IdentityError for malformed rules or options of any of them, RepoTemplateError or
 * ResolutionError `INVALID_SPEC` for a malformed connection, `MISSING_API_KEY`, all before anything is requested.
 */
export const pruneRepoTemplates = async (
  repositories: RepoTemplateOptions | readonly RepoTemplateOptions[],
  options: PruneOptions = {},
  connection: ConnectionOpts = {},
): Promise<readonly PruneResult[]> => {
  assertObject(options, 'options', 'The rules of a pruning', '{ keepLast: 10 }')
  assertKnownKeys(options, ['keepLast', 'maxAgeMs', 'dryRun'], 'A pruning')
  const { dryRun = true, maxAgeMs } = options
  if (typeof dryRun !== 'boolean') {
    throw new RepoTemplateError({
      code: 'OPTION_TYPE',
      field: 'dryRun',
      message: 'dryRun must be true or false',
      hint: 'Write dryRun: false to remove tags for good, or leave it out to see what would go.',
    })
  }
  const keepLast = countOf(options.keepLast, 'keepLast', DEFAULT_KEEP_LAST, 0)
  if (maxAgeMs !== undefined) countOf(maxAgeMs, 'maxAgeMs', 0, 0)
  assertConnection(connection)
  const all = [repositories].flat().map((each) => resolveOptions(each))
  const { signal } = connection
  const api = openTemplateApi(connection)
  const results: PruneResult[] = []
  for (const each of all) {
    // One after another: this is housekeeping, and shares the account's rate limit with sessions.
    // oxlint-disable-next-line no-await-in-loop
    results.push(await pruneOne(each))
  }
  return results

  async function pruneOne(each: ResolvedOptions): Promise<PruneResult> {
    const rules = { keepLast, maxAgeMs, cleanEvery: each.cleanEvery }
    try {
      signal?.throwIfAborted()
      const { name } = await locateTemplate(each, signal)
      return await prune(api, name, rules, dryRun, signal)
    } catch (error) {
      return signal?.aborted === true ? { status: 'aborted', dryRun } : { status: 'failed', dryRun, error }
    }
  }
}

const prune = async (
  api: TemplateApi,
  name: string,
  rules: PruneRules,
  dryRun: boolean,
  signal: AbortSignal | undefined,
): Promise<PruneResult> => {
  const inventory = await takeInventory(api, name, signal)
  if (inventory === undefined) return { status: 'pruned', name, dryRun, decisions: [], removed: [] }
  const hiding = await hidingTags(api, name, inventory, signal)
  const { tags, stateOf } = inventory
  const facts = { tags, stateOf, hidesReady: (tag: string) => hiding.has(tag), now: Date.now() }
  const decisions = decidePruning(facts, rules)
  const chosen = decisions.filter(({ action }) => action === 'remove')
  if (dryRun || chosen.length === 0) return { status: 'pruned', name, dryRun, decisions, removed: [] }
  // Meanwhile somebody may have requested one of them again, or moved `current` back to one.
  const unmoved = unmovedSince(await api.tags(name, signal), chosen)
  if (unmoved.length > 0) await api.removeTags(name, unmoved, signal)
  return { status: 'pruned', name, dryRun, decisions, removed: unmoved }
}

/** The tags of commits whose newest build failed while an older one boots. */
const hidingTags = async (
  api: TemplateApi,
  name: string,
  { tags, stateOf }: Inventory,
  signal: AbortSignal | undefined,
): Promise<ReadonlySet<string>> => {
  const hiding = new Set<string>()
  for (const { tag, buildId } of tags) {
    if (commitOf(tag) === undefined || stateOf(buildId) !== 'error') continue
    // oxlint-disable-next-line no-await-in-loop -- few, and none of it is urgent
    if ((await api.status(`${name}:${tag}`, signal)) === 'ready') hiding.add(tag)
  }
  return hiding
}

const unmovedSince = (now: readonly TagAssignment[] | undefined, chosen: readonly PruneDecision[]): string[] =>
  chosen.flatMap(({ tag, buildId, assignedAt }) => {
    const assigned = now?.find((each) => each.tag === tag)
    const isSame = assigned?.buildId === buildId && assigned.createdAt.getTime() === assignedAt.getTime()
    const isPointedTo = now?.some((each) => each.buildId === buildId && commitOf(each.tag) === undefined) ?? false
    return isSame && !isPointedTo ? [tag] : []
  })
