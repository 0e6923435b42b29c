import { type BuildLease, ensureTemplate, type ResolutionListener, tell, type TemplateApi } from '@warmbox/resolution'
import type { ConnectionOpts } from 'e2b'
import { assertConnection } from './known-keys.ts'
import { openTemplateApi } from './open-template-api.ts'
import { resolveOptions, type RepoTemplateOptions, type ResolvedOptions } from './options.ts'
import { prepareSpec } from './prepare-spec.ts'

/** The connection to E2B, and how to follow the refresh. */
export interface RefreshConnection extends ConnectionOpts {
  /** One call per step, build log lines included, all redacted. */
  readonly onEvent?: ResolutionListener
  /** Ends the wait with its reason. A build already started goes on at E2B. */
  readonly signal?: AbortSignal
  /** Longest build in milliseconds. Default one hour. */
  readonly buildTimeoutMs?: number
  /** Build even where the ref is ready. Default `false`. */
  readonly force?: boolean
  /** Shared with other processes, it lets one of them alone request the build. Default: one of this process. */
  readonly lease?: BuildLease
}

/** What {@link refreshRepoTemplate} came to. */
export interface RefreshRepoTemplateResult {
  /** The template that holds the head now, `name:tag`. */
  ref: string
  /** `reused`: it was there. `built`: it was built, here or by somebody whose build was joined. */
  action: 'reused' | 'built'
  /** How it was built, where it was built here: `clean` from nothing, `incremental` from an earlier build. */
  build?: 'clean' | 'incremental'
  /** Ref of the build an incremental one went on from, `name:<build id>`. */
  parent?: string
  /** The commit, where it is known. */
  sha?: string
}

/**
 * Makes sure that the template of a repository's head is built, and moves `current` to it: for a schedule or a push
 * handler, so that the next session starts warm. The build is awaited; there is no stale, fallback or default template.
 * Safe to call from several places at once: a build that runs already is joined.
 *
 * An unreachable head answers `name:current`, or builds `name:unpinned` where there is none.
 *
 * @throws RepoTemplateError `NO_REPOSITORY`, `ACCESS_REFUSED`, `REF_MISSING`, `BUILD_ENV_FAILED`, or `HEAD_UNREACHABLE`
 * for a tag or pull request; IdentityError for malformed input; ResolutionError when the build fails, and `INVALID_SPEC`
 * for a malformed connection or `MISSING_API_KEY`, before anything is requested.
 */
export const refreshRepoTemplate = async (
  options: RepoTemplateOptions,
  connection: RefreshConnection = {},
): Promise<RefreshRepoTemplateResult> => {
  const resolved = resolveOptions(options)
  assertConnection(connection, refreshKeys)
  return refreshResolved(resolved, openConnection(connection))
}

/** What a refresh takes beside the SDK's own. */
export const refreshKeys: readonly (keyof RefreshConnection)[] = ['onEvent', 'buildTimeoutMs', 'force', 'lease']

/** A connection apart from how to follow what is done through it. */
export interface OpenConnection extends Pick<
  RefreshConnection,
  'onEvent' | 'signal' | 'buildTimeoutMs' | 'force' | 'lease'
> {
  readonly api: TemplateApi
}

/** @throws as {@link openTemplateApi} does; nothing is sent yet. */
export const openConnection = (connection: RefreshConnection): OpenConnection => {
  const { onEvent, signal, buildTimeoutMs, force, lease, ...endpoint } = connection
  return {
    api: openTemplateApi(endpoint),
    ...(onEvent === undefined ? {} : { onEvent }),
    ...(signal === undefined ? {} : { signal }),
    ...(buildTimeoutMs === undefined ? {} : { buildTimeoutMs }),
    ...(force === undefined ? {} : { force }),
    ...(lease === undefined ? {} : { lease }),
  }
}

/** The same for options that were checked before. */
export const refreshResolved = async (
  resolved: ResolvedOptions,
  { onEvent, ...connection }: OpenConnection,
): Promise<RefreshRepoTemplateResult> => {
  const prepared = await prepareSpec(resolved, {
    signal: connection.signal,
    // A broken listener costs nobody a refresh, and there is no channel left to report it on.
    onEvent: onEvent === undefined ? undefined : (event) => tell(onEvent, event, () => undefined),
  })
  if (prepared.status === 'refused') throw prepared.error
  const made = await ensureTemplate(prepared.spec, { ...connection, onEvent })
  return { ...made, ...(prepared.status === 'pinned' ? { sha: prepared.sha } : {}) }
}
