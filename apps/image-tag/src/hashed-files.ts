import { realpath } from 'node:fs/promises'
import { isAbsolute, posix, relative, sep } from 'node:path'

import type { Checkout } from './checkout.ts'
import { fail } from './error.ts'
import { type FileName, nameOf, readableName, splitNul, textOf } from './file-name.ts'
import { gitBytes } from './git.ts'
import { hashBytes, hashFile } from './hash-file.ts'
import { directoryOf, isCheckout, readBlob, readIndex } from './index-entries.ts'
import { present } from './present.ts'

/** Files that pin what an install step brings in, by the name their tools give them. */
const lockfileNames: ReadonlySet<string> = new Set([
  '.terraform.lock.hcl',
  'Cargo.lock',
  'Gemfile.lock',
  'Package.resolved',
  'Pipfile.lock',
  'bun.lock',
  'bun.lockb',
  'composer.lock',
  'conan.lock',
  'deno.lock',
  'flake.lock',
  'go.sum',
  'gradle.lockfile',
  'mix.lock',
  'npm-shrinkwrap.json',
  'package-lock.json',
  'packages.lock.json',
  'pdm.lock',
  'pnpm-lock.yaml',
  'poetry.lock',
  'pubspec.lock',
  'uv.lock',
  'yarn.lock',
])

/** SHA-256 by path; paths are relative to the top of the checkout, with `/` on every platform. */
export type FileHashes = Readonly<Record<string, string>>

/**
 * A path given by a person in its one spelling.
 *
 * @throws ImageTagError `USAGE` for a path that leaves the checkout, or leads to git's own files.
 */
export function insideCheckout(path: string): string {
  const normal = posix.normalize(path)
  if (posix.isAbsolute(normal) || normal === '.' || normal === '..' || normal.startsWith('../')) {
    fail('USAGE', '--file takes a file inside the checkout.', 'Write its path relative to the top of the checkout.')
  }
  if (leadsToGit(normal.split('/'))) {
    fail('USAGE', '--file takes a file of the checkout, none of git itself.', 'The commit is found without it.')
  }
  return normal
}

/** On some file systems letters have no case. */
const leadsToGit = (segments: readonly string[]): boolean =>
  segments.some((segment) => segment.toLowerCase() === '.git')

/** Hashes the files given. One that is absent is refused, or left out where `absent` says so. */
export async function hashFiles(
  { top, index }: Tree,
  paths: readonly string[],
  absent: 'refuse' | 'leave out',
): Promise<FileHashes> {
  const hashes = new Map<string, string>()
  for (const path of paths) {
    const hash = (await hashOnDisk(top, path)) ?? (await hashSkipped(top, index, path))
    if (hash !== undefined) hashes.set(path, hash)
    else if (absent === 'refuse')
      fail('FILE_UNUSABLE', `The checkout has no file ${JSON.stringify(path)}.`, 'Paths are relative to its top.')
  }
  return Object.fromEntries(hashes)
}

/** A checkout, or a submodule of one. */
type Tree = Pick<Checkout, 'top' | 'index'>

const hashOnDisk = async (top: string, path: string): Promise<string | undefined> => {
  const stats = await present(posix.join(top, path))
  if (stats === undefined) return undefined
  if (!stats.isFile()) {
    fail('FILE_UNUSABLE', `${JSON.stringify(path)} is no regular file.`, 'Name the files it stands for by --file.')
  }
  const place = relative(await realpath(top), await realpath(posix.join(top, path)))
  const segments = place.split(sep)
  if (isAbsolute(place) || segments[0] === '..' || leadsToGit(segments)) {
    const problem = `${JSON.stringify(path)} lies outside of the checkout, behind a link.`
    fail('FILE_UNUSABLE', problem, 'Copy it into the checkout, or give its hash by --extra.')
  }
  return hashFile(posix.join(top, path))
}

/** Of what a sparse checkout leaves out the committed bytes count, as they do where it is there and unchanged. */
const hashSkipped = async (top: string, index: Tree['index'], path: string): Promise<string | undefined> => {
  const name = nameOf(path)
  const entry = index.find(({ name: other, skipped }) => skipped && other === name)
  if (entry?.kind !== 'file' && entry?.kind !== 'executable') return undefined
  return hashBytes(await readBlob(top, entry))
}

/**
 * Hashes every lockfile of the checkout that git tracks or would add, at any depth; with `submodules` those inside of them as
 * well. `missing` hears of a submodule that is not checked out.
 */
export async function hashLockfiles(
  tree: Tree,
  submodules: boolean,
  missing: (path: string) => void,
): Promise<FileHashes> {
  const { top, index } = tree
  const patterns = [...lockfileNames].map((name) => `:(top,glob)**/${name}`)
  const untracked = await gitBytes(top, ['ls-files', '-z', '--others', '--exclude-standard', '--', ...patterns])
  // A file in conflict is listed once per side; one that was deleted is listed as long as the index has it.
  const names = new Set([...index.map(({ name }) => name).filter(isLockfile), ...splitNul(untracked)])
  const hashes = new Map(Object.entries(await hashFiles(tree, [...names].map(writable), 'leave out')))
  for (const { name, kind } of submodules ? index : []) {
    if (kind !== 'submodule') continue
    const [path, directory] = [writable(name), directoryOf(top, name)]
    if (!(await isCheckout(directory))) {
      missing(path)
      continue
    }
    const inner = { top: directory, index: await readIndex(directory) }
    const found = await hashLockfiles(inner, true, (deeper) => missing(posix.join(path, deeper)))
    for (const [file, hash] of Object.entries(found)) hashes.set(posix.join(path, file), hash)
  }
  return Object.fromEntries(hashes)
}

const isLockfile = (name: FileName): boolean => lockfileNames.has(posix.basename(name))

const writable = (name: FileName): string =>
  textOf(name) ??
  fail(
    'FILE_UNUSABLE',
    `The name of ${JSON.stringify(readableName(name))} is not UTF-8.`,
    'Give it a name that is, or name the files that count by --file.',
  )
