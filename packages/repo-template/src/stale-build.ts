import type { ResolveContext } from '@warmbox/resolution'
import { parseCommitTag } from './commit-tag.ts'
import { abortable } from './deadline.ts'

/** The earlier build a session could boot, and what it would be booted instead of. */
export interface StaleBuild {
  readonly name: string
  /** Points to the earlier build. */
  readonly current: string
  /** Of the head. */
  readonly wanted: string
}

/**
 * Is the earlier build young enough to be booted? How old it is the template's tags say; where they cannot be read, or
 * there is none, nobody knows, and it counts as young: the session is not to fail for it.
 */
export const isYoungEnough = async (
  { name, current, wanted }: StaleBuild,
  maxStaleMs: number | undefined,
  { listTags, onEvent, signal }: ResolveContext,
): Promise<boolean> => {
  if (maxStaleMs === undefined || listTags === undefined) return true
  let tags: Awaited<ReturnType<typeof listTags>>
  try {
    tags = await abortable(listTags(name), signal)
  } catch {
    signal?.throwIfAborted()
    // Whatever it is, the resolution is given the same answer next and deals with it.
    return true
  }
  const pointer = tags?.find(({ tag }) => tag === current)
  if (tags === undefined || pointer === undefined) return true
  // A moving tag was assigned later than its build was requested.
  const requested = tags
    .filter(({ tag, buildId }) => parseCommitTag(tag) !== undefined && buildId === pointer.buildId)
    .map(({ createdAt }) => createdAt.getTime())
  const ageMs = Date.now() - Math.min(pointer.createdAt.getTime(), ...requested)
  if (ageMs <= maxStaleMs) return true
  if (!tags.some(({ tag }) => tag === wanted)) {
    const message = `The earlier build is older than ${maxStaleMs} ms, so the session waits for that of the head`
    onEvent?.({ type: 'warning', code: 'STALE_TOO_OLD', message, ref: `${name}:${current}` })
  }
  return false
}
