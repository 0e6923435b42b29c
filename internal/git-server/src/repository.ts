import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
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

/** One author and one time, so that equal content has equal commit ids on every run. */
const environment = {
  PATH: process.env['PATH'],
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'Warmbox',
  GIT_AUTHOR_EMAIL: 'warmbox@localhost',
  GIT_AUTHOR_DATE: '2026-01-01T00:00:00Z',
  GIT_COMMITTER_NAME: 'Warmbox',
  GIT_COMMITTER_EMAIL: 'warmbox@localhost',
  GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z',
}

const run = async (cwd: string, args: readonly string[]): Promise<string> => {
  const { stdout } = await execute('git', [...args], { cwd, env: environment })
  return stdout.trim()
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
    const tips = await Promise.all(
      [branch, defaultBranch].map((name) => git('for-each-ref', '--format=%(objectname)', `refs/heads/${name}`)),
    )
    return tips.find((tip) => tip !== '') ?? ''
  }

  return {
    path,
    git,
    async commit(files, { branch = defaultBranch, message = 'Change files' } = {}) {
      const work = await mkdtemp(join(directory, 'work-'))
      try {
        // Not cloned: a clone of an empty repository forgets its object format.
        await run(work, ['init', '--quiet', `--initial-branch=${branch}`, `--object-format=${objectFormat}`])
        const start = await tipOf(branch)
        if (start !== '') {
          await run(work, ['fetch', '--quiet', path, start])
          await run(work, ['reset', '--quiet', '--hard', start])
        }
        for (const [name, content] of Object.entries(files)) {
          await mkdir(dirname(join(work, name)), { recursive: true })
          await writeFile(join(work, name), content)
        }
        await run(work, ['add', '--all'])
        await run(work, ['commit', '--quiet', '--allow-empty', '--message', message])
        await run(work, ['push', '--quiet', path, `HEAD:refs/heads/${branch}`])
        return await run(work, ['rev-parse', 'HEAD'])
      } finally {
        await rm(work, { recursive: true, force: true })
      }
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  }
}
