import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Repository } from '@warmbox/git-server'
import { temporaryDirectory } from './fixtures.ts'

const execute = promisify(execFile)

/** Puts submodules into the default branch: path to clone URL (or relative URL) and commit. */
export const addSubmodules = async (
  made: Repository,
  submodules: Readonly<Record<string, { url: string; sha: string }>>,
): Promise<string> => {
  const modules = Object.entries(submodules).map(
    ([path, { url }]) => `[submodule "${path}"]\n\tpath = ${path}\n\turl = ${url}\n`,
  )
  await made.commit({ '.gitmodules': modules.join('') })
  const index = join(await temporaryDirectory(), 'index')
  const inIndex = (args: readonly string[]) =>
    execute('git', [...args], {
      cwd: made.path,
      env: {
        PATH: process.env['PATH'],
        GIT_INDEX_FILE: index,
        GIT_AUTHOR_NAME: 'Warmbox',
        GIT_AUTHOR_EMAIL: 'warmbox@localhost',
        GIT_COMMITTER_NAME: 'Warmbox',
        GIT_COMMITTER_EMAIL: 'warmbox@localhost',
      },
    })
  await inIndex(['read-tree', 'refs/heads/main'])
  for (const [path, { sha }] of Object.entries(submodules)) {
    await inIndex(['update-index', '--add', '--cacheinfo', `160000,${sha},${path}`])
  }
  const tree = (await inIndex(['write-tree'])).stdout.trim()
  const commit = (await inIndex(['commit-tree', tree, '-p', 'refs/heads/main', '-m', 'Submodules'])).stdout.trim()
  await made.git('update-ref', 'refs/heads/main', commit)
  return commit
}
