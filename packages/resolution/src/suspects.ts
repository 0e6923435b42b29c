/** A create that failed on the platform's side, from one ref of one account, and after which no sandbox was found. */
type Suspects = Map<string, { readonly until: number }>

/** Long enough for a host that retries to come back to it; a trouble of the whole platform is over by then. */
const REMEMBERED_MS = 10 * 60_000
/** Refs carry commit ids, so old entries never come up again; the oldest make room. */
const MOST_SUSPECTS = 1_000

/** On a global symbol, so that the ESM and the CJS copy of this package share it. */
const key = Symbol.for('warmbox.resolution.suspects.1')

function suspects(): Suspects {
  const present: unknown = Reflect.get(globalThis, key)
  if (present instanceof Map) return present
  const made: Suspects = new Map()
  Object.defineProperty(globalThis, key, { value: made })
  return made
}

/**
 * Notes that a create from a ref came to nothing. A build can be listed as ready although its files are lost, and then
 * every create from it fails so.
 * @returns true where that had happened before and was not forgotten: the ref counts as unusable
 */
export function suspect(ref: string, now: number): boolean {
  const known = suspects()
  const before = known.get(ref)
  known.delete(ref)
  known.set(ref, { until: now + REMEMBERED_MS })
  for (const oldest of known.keys()) {
    if (known.size <= MOST_SUSPECTS) break
    known.delete(oldest)
  }
  return before !== undefined && now < before.until
}

/** A sandbox came of this ref. */
export const exonerate = (ref: string): void => void suspects().delete(ref)
