import type { Stats } from 'node:fs'
import { readlink } from 'node:fs/promises'

import { type FileName, locate, textOf } from './file-name.ts'
import { git } from './git.ts'
import { directoryOf, type IndexEntry, isCheckout, readBlob, readIndex } from './index-entries.ts'
import { present } from './present.ts'

/** How many names one run of git is given. */
const BATCH = 500

/**
 * Files that differ from the index though git was told not to look (`--assume-unchanged`, `--skip-worktree`), and submodules
 * that hold such. What a sparse checkout leaves out is no change.
 */
export async function hiddenChanges(top: string, index: readonly IndexEntry[]): Promise<readonly FileName[]> {
  const found: FileName[] = []
  const files: IndexEntry[] = []
  const untold = index.filter(({ skipped, assumed }) => skipped || assumed)
  const sparse = untold.some(({ skipped }) => skipped) && (await isSparse(top))
  for (const entry of untold) {
    const stats = await present(locate(top, entry.name))
    if (stats === undefined) {
      if (!(entry.skipped && sparse)) found.push(entry.name)
    } else if (!(await isKind(top, entry, stats))) found.push(entry.name)
    else if (entry.kind === 'file' || entry.kind === 'executable') files.push(entry)
  }
  found.push(...(await changedFiles(top, files)))
  for (const { kind, name } of index) {
    if (kind === 'submodule' && (await holdsHiddenChanges(directoryOf(top, name)))) found.push(name)
  }
  return found
}

const isSparse = async (top: string): Promise<boolean> =>
  (await git(top, ['config', '--type=bool', '--get', 'core.sparseCheckout']))?.trim() === 'true'

/** Whether what lies there is what the index has, the contents of files left out. */
const isKind = async (top: string, entry: IndexEntry, stats: Stats): Promise<boolean> => {
  switch (entry.kind) {
    case 'file':
    case 'executable':
      return stats.isFile() && ((stats.mode & 0o100) !== 0) === (entry.kind === 'executable')
    case 'link':
      return stats.isSymbolicLink() && (await readBlob(top, entry)).equals(await targetOf(locate(top, entry.name)))
    case 'submodule': {
      const directory = directoryOf(top, entry.name)
      if (!(await isCheckout(directory))) return stats.isDirectory()
      return (await git(directory, ['rev-parse', '--verify', '--quiet', 'HEAD']))?.trim() === entry.oid
    }
  }
}

const targetOf = (path: Buffer): Promise<Buffer> => readlink(path, { encoding: 'buffer' })

/** Those whose contents, as git would commit them, are other ones. */
const changedFiles = async (top: string, entries: readonly IndexEntry[]): Promise<readonly FileName[]> => {
  const changed: FileName[] = []
  for (let start = 0; start < entries.length; start += BATCH) {
    const batch = entries.slice(start, start + BATCH)
    // A name no argument can hold is taken for changed, which can at worst name a clean checkout apart.
    const told = batch.filter(({ name }) => textOf(name) !== undefined)
    const names = told.map(({ name }) => textOf(name) ?? '')
    const oids = names.length === 0 ? [] : ((await git(top, ['hash-object', '--', ...names])) ?? '').split('\n')
    const same = new Set(told.filter(({ oid }, position) => oids[position] === oid))
    changed.push(...batch.filter((entry) => !same.has(entry)).map(({ name }) => name))
  }
  return changed
}

const holdsHiddenChanges = async (directory: string): Promise<boolean> =>
  (await isCheckout(directory)) && (await hiddenChanges(directory, await readIndex(directory))).length > 0
