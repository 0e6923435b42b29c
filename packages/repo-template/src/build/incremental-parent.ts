import type { TagAssignment } from '@warmbox/resolution'
import { parseCommitTag } from '../commit-tag.ts'

/** The moving tags of a line of development, and its rule. */
export interface Line {
  /** Points to the last good build. */
  readonly current: string
  /** Points to the last build from nothing. */
  readonly clean: string
  /** Of this many builds in a row one is from nothing; 1 means every one. */
  readonly cleanEvery: number
  /** What the tags of its commits end in. */
  readonly lineSuffix: string
}

/**
 * The id of the build that the next one goes on from; undefined where it must be from nothing: nobody built before, it is
 * not known when the last build from nothing was, or it is time for another one.
 *
 * Counted are the commits of the line requested since that one. To the default branch's count those that hosts vouch for,
 * which look alike: so a build from nothing comes sooner than it had to, never later.
 */
export const parentBuildOf = (
  tags: readonly TagAssignment[],
  { current, clean, cleanEvery, lineSuffix }: Line,
): string | undefined => {
  const parent = tags.find(({ tag }) => tag === current)
  const lastClean = tags.find(({ tag }) => tag === clean)
  if (parent === undefined || lastClean === undefined) return undefined
  return commitsSince(lastClean, tags, lineSuffix).length + 1 < cleanEvery ? parent.buildId : undefined
}

/** The tags of a line's commits that were requested after the build a tag points to. */
export const commitsSince = (
  { buildId, createdAt }: TagAssignment,
  tags: readonly TagAssignment[],
  lineSuffix: string,
): readonly TagAssignment[] => {
  const commits = tags.filter(({ tag }) => parseCommitTag(tag)?.lineSuffix === lineSuffix)
  // A moving tag was assigned later than its build was requested.
  const requestedAt = Math.min(
    createdAt.getTime(),
    ...commits.filter((each) => each.buildId === buildId).map((each) => each.createdAt.getTime()),
  )
  return commits.filter((each) => each.buildId !== buildId && each.createdAt.getTime() >= requestedAt)
}
