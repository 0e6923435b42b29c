import { isWarmboxError } from '@warmbox/identity'
import { type ResolutionEvent, tell } from '@warmbox/resolution'
import { countOf } from '../count.ts'
import { RepoTemplateError } from '../errors.ts'
import { assertConnection } from '../known-keys.ts'
import { type RepoTemplateOptions, type ResolvedOptions, resolveOptions } from '../options.ts'
import { noRepository } from '../repository-access.ts'
import {
  openConnection,
  type RefreshConnection,
  refreshKeys,
  type RefreshRepoTemplateResult,
  refreshResolved,
} from '../refresh-repo-template.ts'

/** How far a warm-up is. `index` is the repository's place among those given. */
export type WarmEvent =
  | { readonly type: 'warm-start'; readonly index: number; readonly total: number }
  /** What happens to one of them, as a refresh tells it. */
  | { readonly type: 'warm-step'; readonly index: number; readonly event: ResolutionEvent }
  | {
      readonly type: 'warm-end'
      readonly index: number
      readonly total: number
      /** How many have ended, this one included. */
      readonly ended: number
      readonly outcome: WarmResult['status']
      readonly ref?: string
      readonly code?: string
      readonly durationMs: number
    }

/** The connection to E2B, how many at a time, and how to follow it. */
export interface WarmConnection extends Omit<RefreshConnection, 'onEvent'> {
  /** Repositories refreshed at a time; each may need a build, of which a plan allows 20 at once. Default 4. */
  readonly concurrency?: number | undefined
  readonly onEvent?: ((event: WarmEvent) => void) | undefined
}

/** What became of one repository. */
export type WarmResult =
  | ({ readonly status: 'warm'; readonly durationMs: number } & Readonly<RefreshRepoTemplateResult>)
  | { readonly status: 'failed'; readonly durationMs: number; readonly error: unknown }
  /** The signal was aborted before it ended, or began. */
  | { readonly status: 'aborted'; readonly durationMs: number }

const DEFAULT_CONCURRENCY = 4

/**
 * Refreshes the templates of many repositories, a few at a time, so that their next sessions start warm. One that fails
 * keeps no other from being warmed.
 *
 * @returns one result for each repository, in the order given; never rejects for one of them, nor for an abort, after
 * which those that had not ended are `aborted`. Builds that run by then go on at E2B.
 * @throws RepoTemplateError or IdentityError for malformed options of any of them, RepoTemplateError or ResolutionError
 * `INVALID_SPEC` for a malformed connection, `MISSING_API_KEY`, all before anything is requested.
 */
export const warmRepositories = async (
  repositories: readonly RepoTemplateOptions[],
  connection: WarmConnection = {},
): Promise<readonly WarmResult[]> => {
  if (!Array.isArray(repositories)) {
    throw new RepoTemplateError({
      code: 'OPTION_TYPE',
      field: 'repositories',
      message: 'repositories must be a list',
      hint: 'Write [options] for one repository.',
    })
  }
  assertConnection(connection, ['concurrency', ...refreshKeys])
  const { concurrency, onEvent, ...refreshing } = connection
  const open = openConnection(refreshing)
  const { signal } = open
  const lanes = countOf(concurrency, 'concurrency', DEFAULT_CONCURRENCY)
  const all = repositories.map((each) => resolvedWithRepository(each))
  const total = all.length
  const waiting = [...all.entries()]
  const results = new Map<number, WarmResult>()
  const emit = (event: WarmEvent): void => {
    // A broken listener costs nobody a template, and there is no channel left to report it on.
    if (onEvent !== undefined) tell(onEvent, Object.freeze(event), () => undefined)
  }

  const isAborted = (): boolean => signal?.aborted === true

  const warm = async (index: number, options: ResolvedOptions): Promise<WarmResult> => {
    const started = performance.now()
    const durationMs = (): number => performance.now() - started
    if (isAborted()) return { status: 'aborted', durationMs: 0 }
    emit({ type: 'warm-start', index, total })
    try {
      const refreshed = await refreshResolved(options, {
        ...open,
        onEvent: (event) => emit({ type: 'warm-step', index, event }),
      })
      return { status: 'warm', durationMs: durationMs(), ...refreshed }
    } catch (error) {
      if (isAborted()) return { status: 'aborted', durationMs: durationMs() }
      return { status: 'failed', durationMs: durationMs(), error }
    }
  }

  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, options] = next
      // oxlint-disable-next-line no-await-in-loop -- a lane takes one after the other
      const result = await warm(index, options)
      results.set(index, result)
      emit({ type: 'warm-end', index, total, ended: results.size, outcome: result.status, ...told(result) })
    }
  }
  await Promise.all(Array.from({ length: Math.min(lanes, total) }, () => lane()))
  return all.map((_options, index) => {
    const result = results.get(index)
    if (result === undefined) throw new TypeError(`Repository ${index} was left out`)
    return result
  })
}

const told = (result: WarmResult): { ref?: string; code?: string; durationMs: number } => {
  const { durationMs } = result
  if (result.status === 'warm') return { ref: result.ref, durationMs }
  if (result.status === 'failed' && isWarmboxError(result.error)) return { code: result.error.code, durationMs }
  return { durationMs }
}

/** Without one there is nothing to warm, and the caller meant something else. */
const resolvedWithRepository = (options: RepoTemplateOptions): ResolvedOptions => {
  const resolved = resolveOptions(options)
  if (resolved.getRepositoryAccess !== undefined) return resolved
  throw noRepository()
}
