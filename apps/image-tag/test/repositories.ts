import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { afterAll, afterEach } from 'vitest'

export const REMOTE = 'https://github.com/acme/Widgets.git'

const directories: string[] = []

afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true })
})

/** A directory of its own, gone after the test. */
export function temporary(name = 'image-tag-'): string {
  const directory = mkdtempSync(join(tmpdir(), name))
  directories.push(directory)
  return directory
}

const identity = {
  GIT_AUTHOR_NAME: 'A',
  GIT_AUTHOR_EMAIL: 'a@example.com',
  GIT_COMMITTER_NAME: 'A',
  GIT_COMMITTER_EMAIL: 'a@example.com',
}

/** Runs git on a checkout, with nobody's configuration; answers stdout, trimmed. */
export const git = (directory: string, ...args: readonly string[]): string =>
  execFileSync('git', ['-c', 'protocol.file.allow=always', ...args], {
    cwd: directory,
    env: { PATH: process.env['PATH'], GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1', ...identity },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim()

export function write(directory: string, files: Readonly<Record<string, string>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), content)
  }
}

/** Commits the files; answers the commit. */
export function commit(directory: string, files: Readonly<Record<string, string>>): string {
  write(directory, files)
  git(directory, 'add', '--all')
  git(directory, 'commit', '--quiet', '--allow-empty', '-m', 'change')
  return git(directory, 'rev-parse', 'HEAD')
}

/** What every {@link checkout} is a copy of: copying takes a fraction of the time of six processes. */
let original: string | undefined

afterAll(() => {
  if (original !== undefined) rmSync(original, { recursive: true, force: true })
})

function makeOriginal(): string {
  const directory = mkdtempSync(join(tmpdir(), 'image-tag-original-'))
  git(directory, 'init', '--quiet', '--template=', '--initial-branch=main')
  commit(directory, { 'package-lock.json': '{"lockfileVersion":3}', 'src/index.js': 'a' })
  git(directory, 'remote', 'add', 'origin', REMOTE)
  return directory
}

/** A checkout with one commit and a lockfile, cloned from {@link REMOTE} as far as it can tell. */
export function checkout(remote = REMOTE): string {
  original ??= makeOriginal()
  const directory = temporary()
  cpSync(original, directory, { recursive: true, preserveTimestamps: true })
  if (remote !== REMOTE) git(directory, 'remote', 'set-url', 'origin', remote)
  return directory
}

/** Another checkout of the same repository, elsewhere. */
export function clone(from: string, ...options: readonly string[]): string {
  const directory = join(temporary('another place-'), 'deeper', 'ünder')
  git(tmpdir(), 'clone', '--quiet', ...options, `file://${from}`, directory)
  git(directory, 'remote', 'set-url', 'origin', REMOTE)
  return directory
}
