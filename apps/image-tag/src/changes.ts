import { readlink } from 'node:fs/promises'
import { posix } from 'node:path'

import { digestText } from '@warmbox/identity'

import { git } from './git.ts'
import { hashFile } from './hash-file.ts'
import { splitNul } from './hashed-files.ts'
import { present } from './present.ts'

/** What a checkout holds beside its commit. */
export interface Changes {
  /** Paths that were changed, deleted or added, ignored ones left out. */
  readonly paths: readonly string[]
  /** 16 hex digits that differ wherever the contents do; staging makes no difference. */
  readonly digest: string
}

const DIGEST_DIGITS = 16

/** The changes of the checkout whose top is `top`, those inside submodules included; `undefined` where it is clean. */
export async function readChanges(top: string): Promise<Changes | undefined> {
  const status = await git(top, [
    'status',
    '--porcelain=v1',
    '-z',
    '--untracked-files=all',
    '--no-renames',
    '--ignore-submodules=none',
  ])
  // Each entry is two letters of state, a space and the path.
  const paths = splitNul(status ?? '').map((entry) => entry.slice(3))
  if (paths.length === 0) return undefined
  const states: string[] = []
  for (const path of paths) states.push(JSON.stringify([path, await stateOf(posix.join(top, path))]))
  return { paths, digest: digestText(states.toSorted().join('\n')).slice(0, DIGEST_DIGITS) }
}

/** The commit that is checked out, or `undefined` before the first one. */
export async function readHead(top: string): Promise<string | undefined> {
  return (await git(top, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']))?.trim()
}

const stateOf = async (path: string): Promise<string> => {
  const stats = await present(path)
  if (stats === undefined) return 'absent'
  if (stats.isSymbolicLink()) return `link ${await readlink(path)}`
  if (stats.isFile()) return `${(stats.mode & 0o100) === 0 ? 'file' : 'executable'} ${await hashFile(path)}`
  // A directory is listed where it is a repository of its own.
  if (!stats.isDirectory()) return 'special'
  return `repository ${await readHead(path)} ${(await readChanges(path))?.digest}`
}
