import { readlink } from 'node:fs/promises'

import { digestText } from '@warmbox/identity'

import { type FileName, locate, readableName, splitNul } from './file-name.ts'
import { git, gitBytes } from './git.ts'
import { hashFile } from './hash-file.ts'
import { hiddenChanges } from './hidden-changes.ts'
import { directoryOf, type IndexEntry, isCheckout, readIndex } from './index-entries.ts'
import { present } from './present.ts'

/** What a checkout holds beside its commit. */
export interface Changes {
  /** Paths that were changed, deleted or added, ignored ones left out; to be read by people. */
  readonly paths: readonly string[]
  /** 32 hex digits that differ wherever the contents do; staging makes no difference. */
  readonly digest: string
}

/** 128 bits: a tag has room for them beside the longest commit, and nobody finds two contents for one digest. */
const DIGEST_DIGITS = 32

/** The changes of the checkout whose top is `top`, those inside submodules included; `undefined` where it is clean. */
export async function readChanges(top: string, index: readonly IndexEntry[]): Promise<Changes | undefined> {
  const status = await gitBytes(top, [
    'status',
    '--porcelain=v1',
    '-z',
    '--untracked-files=all',
    '--no-renames',
    '--ignore-submodules=none',
  ])
  // Each entry is two letters of state, a space and the path; one that left the index but lies there has two entries.
  const listed = splitNul(status).map((entry) => entry.slice(3))
  const names = [...new Set([...listed, ...(await hiddenChanges(top, index))])]
  if (names.length === 0) return undefined
  const states: string[] = []
  for (const name of names) states.push(JSON.stringify([name, await stateOf(top, name)]))
  return { paths: names.map(readableName), digest: digestText(states.toSorted().join('\n')).slice(0, DIGEST_DIGITS) }
}

/** The commit that is checked out, or `undefined` before the first one. */
export async function readHead(top: string): Promise<string | undefined> {
  return (await git(top, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']))?.trim()
}

const stateOf = async (top: string, name: FileName): Promise<string> => {
  const path = locate(top, name)
  const stats = await present(path)
  if (stats === undefined) return 'absent'
  if (stats.isSymbolicLink()) return `link ${await readlink(path, { encoding: 'latin1' })}`
  if (stats.isFile()) return `${(stats.mode & 0o100) === 0 ? 'file' : 'executable'} ${await hashFile(path)}`
  if (!stats.isDirectory()) return 'special'
  const directory = directoryOf(top, name)
  // Else it has taken the place of a file; what lies in it is listed on its own.
  if (!(await isCheckout(directory))) return 'directory'
  return `repository ${await readHead(directory)} ${(await readChanges(directory, await readIndex(directory)))?.digest}`
}
