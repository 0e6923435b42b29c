import { posix } from 'node:path'

import { fail } from './error.ts'
import { git } from './git.ts'
import { hashFile } from './hash-file.ts'
import { present } from './present.ts'

/** Files that pin what an install step brings in, by the name their tools give them. */
const lockfileNames = [
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
]

/** SHA-256 by path; paths are relative to the top of the checkout, with `/` on every platform. */
export type FileHashes = Readonly<Record<string, string>>

/**
 * A path given by a person in its one spelling.
 *
 * @throws ImageTagError `USAGE` for a path that leaves the checkout.
 */
export function insideCheckout(path: string): string {
  const normal = posix.normalize(path)
  if (posix.isAbsolute(normal) || normal === '.' || normal === '..' || normal.startsWith('../')) {
    fail('USAGE', '--file takes a file inside the checkout.', 'Write its path relative to the top of the checkout.')
  }
  return normal
}

/** Hashes the files given. One that is absent is refused, or left out where `absent` says so. */
export async function hashFiles(
  top: string,
  paths: readonly string[],
  absent: 'refuse' | 'leave out',
): Promise<FileHashes> {
  const hashes = new Map<string, string>()
  for (const path of paths) {
    const stats = await present(posix.join(top, path))
    if (stats?.isFile() === true) hashes.set(path, await hashFile(posix.join(top, path)))
    else if (stats !== undefined)
      fail('FILE_UNUSABLE', `${JSON.stringify(path)} is no regular file.`, 'Name the files it stands for by --file.')
    else if (absent === 'refuse')
      fail('FILE_UNUSABLE', `The checkout has no file ${JSON.stringify(path)}.`, 'Paths are relative to its top.')
  }
  return Object.fromEntries(hashes)
}

/** Hashes every lockfile of the checkout that git tracks or would add, at any depth. */
export async function hashLockfiles(top: string): Promise<FileHashes> {
  const patterns = lockfileNames.map((name) => `:(top,glob)**/${name}`)
  const listed = await git(top, ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...patterns])
  // A file in conflict is listed once per side; one that was deleted is listed as long as the index has it.
  return hashFiles(top, [...new Set(splitNul(listed ?? ''))], 'leave out')
}

/** The entries of what git writes under `-z`. */
export const splitNul = (text: string): readonly string[] => text.split('\0').filter((entry) => entry !== '')
