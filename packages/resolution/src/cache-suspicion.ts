import { setBounded } from './bounded-map.ts'
import type { ResolutionError } from './errors.ts'
import { processState } from './process-state.ts'
import { splitRef } from './refs.ts'

/**
 * A layer taken from the platform's cache can be broken, and then every build that starts from it fails alike. Where a
 * step failed the same way twice after cache hits, one build goes without the cache.
 */
const FAILURES_THAT_RAISE_IT = 2
/** Anything shorter would take more out of a text than mentions of the commit. */
const SHORTEST_COMMIT = 7
const MOST_REMEMBERED = 1_000

/** Builds of one template under different tags share their layers. */
const keyOf = (scope: string, ref: string): string => `${scope}\n${splitRef(ref).name}`

/** What is left of a failure without the ref and the commit in it, which are another for each build. */
function likenessOf(ref: string, { message, step }: ResolutionError): string {
  const { tag } = splitRef(ref)
  // What follows the commit tells apart the lines it is built for; a step's words do not hold it.
  const commit = /^sha-([0-9a-f]+)(?:-[0-9a-f]+)?$/.exec(tag)?.[1] ?? tag
  const text = message.replaceAll(ref, '')
  return `${step}\n${commit.length < SHORTEST_COMMIT ? text : text.replaceAll(commit, '')}`
}

/** Is the cache to be left out of the next build? */
export function isCacheSuspect(scope: string, ref: string): boolean {
  const suspicion = processState().suspicions.get(keyOf(scope, ref))
  return suspicion !== undefined && suspicion.count >= FAILURES_THAT_RAISE_IT && !suspicion.isCleared
}

/** Takes a failed step into account. `how.cached`: layers before it came from the cache. */
export function noteStepFailure(
  scope: string,
  ref: string,
  error: ResolutionError,
  how: { readonly cached: boolean; readonly skippedCache: boolean },
): void {
  const { suspicions } = processState()
  const key = keyOf(scope, ref)
  const failure = likenessOf(ref, error)
  const before = suspicions.get(key)
  const same = before?.failure === failure ? before : undefined
  const count = how.cached ? (same?.count ?? 0) + 1 : 0
  const isCleared = how.skippedCache || (same?.isCleared ?? false)
  setBounded(suspicions, key, { failure, count, isCleared }, MOST_REMEMBERED)
}

/** A build ended well, so its layers are good. */
export const clearSuspicion = (scope: string, ref: string): void => {
  processState().suspicions.delete(keyOf(scope, ref))
}
