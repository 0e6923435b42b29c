/** What a tag of a commit says. */
export interface CommitTag {
  readonly sha: string
  /** Of the line it was built for: empty for the default branch and for a commit the host vouches for. */
  readonly lineSuffix: string
}

const commitTagForm = /^sha-([0-9a-f]{40}|[0-9a-f]{64})(-[0-9a-f]{16})?$/

/**
 * The commit and the line in a tag such as `sha-<commit>` or `sha-<commit>-<hash of the line>`; undefined for a moving
 * tag. A build gets such a tag when it is requested.
 */
export const parseCommitTag = (tag: string): CommitTag | undefined => {
  const [, sha, lineSuffix = ''] = commitTagForm.exec(tag) ?? []
  return sha === undefined ? undefined : { sha, lineSuffix }
}
