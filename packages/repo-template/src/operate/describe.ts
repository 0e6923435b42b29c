import {
  type BuildState,
  type BuildSummary,
  createRedactor,
  failureGist,
  type Redactor,
  type TemplateApi,
} from '@warmbox/resolution'
import type { ConnectionOpts } from 'e2b'
import { commitsSince } from '../build/incremental-parent.ts'
import { assertConnection } from '../known-keys.ts'
import { lineOf } from '../named-spec.ts'
import { openTemplateApi } from '../open-template-api.ts'
import { type RepoTemplateOptions, type ResolvedOptions, resolveOptions } from '../options.ts'
import { commitOf, type Inventory, takeInventory } from './inventory.ts'
import { locateTemplate } from './locate.ts'

/** One build of a repository's template. */
export interface DescribedBuild {
  readonly buildId: string
  /** The commit; undefined where its tag has a newer build by now, and for one of no known commit. */
  readonly sha: string | undefined
  readonly state: BuildState
  /** When it was requested; E2B does not tell when a build ended. */
  readonly requestedAt: Date
  /** Milliseconds since then. */
  readonly ageMs: number
}

/** The last build that failed, and why. */
export interface DescribedFailure extends DescribedBuild {
  /** In E2B's words, redacted; undefined where it gives none. */
  readonly reason: string | undefined
  /** A number of the template's steps, `base` or `finalize`. */
  readonly step: string | undefined
}

/** What there is of a repository's template, without anything having been changed. */
export interface RepoTemplateDescription {
  readonly name: string
  /** The build sessions boot where the head has none yet; a tag, a pull request and a `sha` have none. */
  readonly current: DescribedBuild | undefined
  /** The last build from nothing of the same branch. */
  readonly clean: DescribedBuild | undefined
  /** Commits of the branch requested since that one; of the default branch, those given as `sha` included. */
  readonly sinceClean: number | undefined
  /** Of any branch or pull request, as all below. */
  readonly lastBuild: DescribedBuild | undefined
  readonly lastFailure: DescribedFailure | undefined
  /** Requested and not ended, newest first. */
  readonly running: readonly DescribedBuild[]
}

/**
 * Tells what E2B has of a repository's template: the build sessions boot, how old it is, the last build, the last failure
 * with its reason, and what runs. Asks E2B only, not the repository's host: whether the head has moved since, it does
 * not say. Builds whose tags were all removed are not seen.
 *
 * @throws RepoTemplateError `NO_REPOSITORY`, `ACCESS_REFUSED`, `BUILD_ENV_FAILED` or `BASE_FAILED`, because without
 * access and build variables the name is not known; IdentityError for malformed input; ResolutionError `MISSING_API_KEY`
 * before anything is requested, and as E2B answered.
 */
export const describeRepoTemplate = async (
  options: RepoTemplateOptions,
  connection: ConnectionOpts = {},
): Promise<RepoTemplateDescription> => {
  const resolved = resolveOptions(options)
  assertConnection(connection)
  const { signal } = connection
  const api = openTemplateApi(connection)
  const { name, secrets } = await locateTemplate(resolved, signal)
  const inventory = await takeInventory(api, name, signal)
  if (inventory === undefined) return Object.freeze({ ...nothing, name })
  const { tags, builds } = inventory
  const describe = describer(inventory, Date.now())
  const byTag = (tag: string) => tags.find((each) => each.tag === tag)
  const line = lineTags(resolved)
  const clean = line === undefined ? undefined : byTag(line.clean)
  const failed = builds.find(({ state }) => state === 'error')
  return Object.freeze({
    name,
    current: buildBehind(line?.current),
    clean: buildBehind(line?.clean),
    sinceClean:
      line === undefined || clean === undefined ? undefined : commitsSince(clean, tags, line.lineSuffix).length,
    lastBuild: builds.slice(0, 1).map(describe)[0],
    lastFailure:
      failed === undefined
        ? undefined
        : { ...describe(failed), ...(await whyOf(api, inventory, failed, createRedactor(secrets), signal)) },
    running: builds.filter(({ state }) => state === 'waiting' || state === 'building').map(describe),
  })

  function buildBehind(tag: string | undefined): DescribedBuild | undefined {
    const assignment = tag === undefined ? undefined : byTag(tag)
    const build = builds.find(({ buildId }) => buildId === assignment?.buildId)
    return build === undefined ? undefined : describe(build)
  }
}

const nothing = {
  current: undefined,
  clean: undefined,
  sinceClean: undefined,
  lastBuild: undefined,
  lastFailure: undefined,
  running: [],
}

const lineTags = (options: ResolvedOptions) =>
  options.selector.hasMovingTags && options.sha === undefined ? lineOf(options, options.selector.lineSuffix) : undefined

const describer =
  ({ tags }: Inventory, now: number) =>
  ({ buildId, state, createdAt }: BuildSummary): DescribedBuild => ({
    buildId,
    sha: tags.flatMap(({ tag, buildId: assigned }) => (assigned === buildId ? (commitOf(tag) ?? []) : []))[0],
    state,
    requestedAt: createdAt,
    ageMs: Math.max(0, now - createdAt.getTime()),
  })

const whyOf = async (
  api: TemplateApi,
  { templateId }: Inventory,
  { buildId }: BuildSummary,
  redactor: Redactor,
  signal: AbortSignal | undefined,
): Promise<Pick<DescribedFailure, 'reason' | 'step'>> => {
  const { failure } = await api.buildProgress({ templateId, buildId }, 0, signal)
  return {
    reason: failure === undefined ? undefined : failureGist(redactor.text(failure.message)),
    step: failure?.step,
  }
}
