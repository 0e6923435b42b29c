import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/** Path in the repository to its whole content. */
export type Files = Readonly<Record<string, string>>

export interface RepositoryOptions {
  /** Default `sha1`. */
  readonly objectFormat?: 'sha1' | 'sha256'
  /** Name of the default branch; default `main`. */
  readonly branch?: string
}

export interface Repository {
  /** Bare repository on disk. */
  readonly path: string
  /** Commits `files` over the tip of `branch` (default: the default branch), starting it there if new; answers the commit's id. */
  commit(files: Files, options?: { readonly branch?: string; readonly message?: string }): Promise<string>
  /** Any git command in the bare repository; answers its trimmed output. */
  git(...args: readonly string[]): Promise<string>
  remove(): Promise<void>
}

/** One time for everything, so that equal content has equal commit ids on every run. */
const committedAt = 1_767_225_600

const environment = {
  PATH: process.env['PATH'],
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'Warmbox',
  GIT_AUTHOR_EMAIL: 'warmbox@localhost',
  GIT_AUTHOR_DATE: `${committedAt} +0000`,
  GIT_COMMITTER_NAME: 'Warmbox',
  GIT_COMMITTER_EMAIL: 'warmbox@localhost',
  GIT_COMMITTER_DATE: `${committedAt} +0000`,
}

const run = async (cwd: string, args: readonly string[]): Promise<string> => {
  const { stdout } = await execute('git', [...args], { cwd, env: environment })
  return stdout.trim()
}

/** A literal of fast-import's input. */
const data = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}\n`

const feed = async (cwd: string, args: readonly string[], input: readonly string[]): Promise<void> => {
  const running = execute('git', [...args], { cwd, env: environment })
  running.child.stdin?.end(input.join(''))
  await running
}

/** Makes an empty bare repository in a directory of its own under the system's temporary directory. */
export const createRepository = async (options: RepositoryOptions = {}): Promise<Repository> => {
  const { branch: defaultBranch = 'main', objectFormat = 'sha1' } = options
  const directory = await mkdtemp(join(tmpdir(), 'warmbox-git-'))
  const path = join(directory, 'repository.git')
  await run(directory, [
    'init',
    '--quiet',
    '--bare',
    `--initial-branch=${defaultBranch}`,
    `--object-format=${objectFormat}`,
    path,
  ])
  const git = (...args: readonly string[]) => run(path, args)
  /** Where a commit on `branch` starts: there, or on the default branch; empty in an empty repository. */
  const tipOf = async (branch: string): Promise<string> => {
    const wanted = [`refs/heads/${branch}`, `refs/heads/${defaultBranch}`]
    const tips = (await git('for-each-ref', '--format=%(refname) %(objectname)', ...wanted)).split('\n')
    const found = wanted.map((ref) => tips.find((line) => line.startsWith(`${ref} `))?.slice(ref.length + 1))
    return found.find((tip) => tip !== undefined) ?? ''
  }

  return {
    path,
    git,
    async commit(files, { branch = defaultBranch, message = 'Change files' } = {}) {
      const start = await tipOf(branch)
      const changes = Object.entries(files).map(([name, content]) => `M 100644 inline ${name}\n${data(content)}`)
      // One process instead of a work tree's ten.
      await feed(
        path,
        ['fast-import', '--quiet', '--force'],
        [
          `commit refs/heads/${branch}\ncommitter Warmbox <warmbox@localhost> ${committedAt} +0000\n${data(message)}`,
          start === '' ? '' : `from ${start}\n`,
          ...changes,
        ],
      )
      return git('rev-parse', `refs/heads/${branch}`)
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  }
}
