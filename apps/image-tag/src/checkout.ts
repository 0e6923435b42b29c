import { type Changes, readChanges, readHead } from './changes.ts'
import { fail } from './error.ts'
import { git, topDirectory } from './git.ts'
import { type IndexEntry, readIndex } from './index-entries.ts'
import { plain } from './plain.ts'
import { present } from './present.ts'

/** What git says of a checkout. */
export interface Checkout {
  /** Its top directory. */
  readonly top: string
  readonly sha: string
  readonly index: readonly IndexEntry[]
  readonly changes: Changes | undefined
}

/**
 * Reads a checkout: shallow or not, on a branch or not. `path` may be any directory in it.
 *
 * @throws ImageTagError `NO_CHECKOUT`, `NO_COMMIT` or `GIT_FAILED`.
 */
export async function readCheckout(path: string): Promise<Checkout> {
  const found = await present(path, 'follow')
  if (found?.isDirectory() !== true) {
    const problem = found === undefined ? `There is no directory ${plain(path)}` : `${plain(path)} is no directory`
    fail('NO_CHECKOUT', problem, 'Give the path of a git checkout.')
  }
  const top = await topDirectory(path)
  const sha =
    (await readHead(top)) ?? fail('NO_COMMIT', `${top} has no commit yet`, 'Commit something: the tag is the commit.')
  const index = await readIndex(top)
  return { top, sha, index, changes: await readChanges(top, index) }
}

/**
 * The remote a checkout was cloned from, with its URL as it is written in the repository's configuration: rewriting rules
 * (`insteadOf`) are how machines add tokens, and differ from one to the next. `origin`, or the only remote there is.
 *
 * @throws ImageTagError `NO_REMOTE`
 */
export async function readRemote(top: string): Promise<{ readonly name: string; readonly url: string }> {
  const names = ((await git(top, ['remote'])) ?? '').split('\n').filter((name) => name !== '')
  const name = names.includes('origin') ? 'origin' : names.length === 1 ? names[0] : undefined
  const urls = name === undefined ? undefined : await git(top, ['config', '-z', '--get-all', `remote.${name}.url`])
  const [url] = urls?.split('\0') ?? []
  if (name === undefined || url === undefined || url === '') {
    const which = names.length > 1 ? 'more than one remote and none called origin' : 'no remote'
    return fail('NO_REMOTE', `${top} has ${which}`, 'Give the URL that names the repository by --url.')
  }
  return { name, url }
}
