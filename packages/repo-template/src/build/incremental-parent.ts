import type { TagAssignment } from '@warmbox/resolution'

/** The moving tags of a line of development, and its rule. */
export interface Line {
  /** Points to the last good build. */
  readonly current: string
  /** Points to the last build from nothing. */
  readonly clean: string
  /** Of this many builds in a row one is from nothing; 1 means every one. */
  readonly cleanEvery: number
}

/** A tag of a commit, `sha-<commit>`. A build gets it when it is requested. */
export const isCommitTag = (tag: string): boolean => tag.startsWith('sha-')

/**
 * The id of the build that the next one goes on from; undefined where it must be from nothing: nobody built before, it is
 * not known when the last build from nothing was, or it is time for another one.
 *
 * Counted are the commits requested since that one. Those of other lines look alike and count too, so that a build from
 * nothing comes sooner than it had to, never later.
 */
export const parentBuildOf = (
  tags: readonly TagAssignment[],
  { current, clean, cleanEvery }: Line,
): string | undefined => {
  const parent = tags.find(({ tag }) => tag === current)
  const lastClean = tags.find(({ tag }) => tag === clean)
  if (parent === undefined || lastClean === undefined) return undefined
  return commitsSince(lastClean, tags).length + 1 < cleanEvery ? parent.buildId : undefined
}

/** The tags of commits that were requested after the build a tag points to. */
export const commitsSince = (
  { buildId, createdAt }: TagAssignment,
  tags: readonly TagAssignment[],
): readonly TagAssignment[] => {
  const commits = tags.filter(({ tag }) => isCommitTag(tag))
  // A moving tag was assigned later than its build was requested.
  const requestedAt = Math.min(
    createdAt.getTime(),
    ...commits.filter((each) => each.buildId === buildId).map((each) => each.createdAt.getTime()),
  )
  return commits.filter((each) => each.buildId !== buildId && each.createdAt.getTime() >= requestedAt)
}
