import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { onTestFinished } from 'vitest'
import {
  createRepository,
  startGitServer,
  type GitServer,
  type GitServerOptions,
  type Repository,
} from '@warmbox/git-server'
import type { RepositoryAccess } from '@warmbox/repo-template'

/** Long and odd enough that a hit in any output is no coincidence. */
export const token = 'ghs_Zk9$w+Qx/needle=7'

/** Every form in which the token may not appear anywhere it does not belong. */
export const needles: readonly string[] = [
  token,
  Buffer.from(token).toString('base64'),
  `x-access-token:${token}`,
  Buffer.from(`x-access-token:${token}`).toString('base64'),
]

export const temporaryDirectory = async (): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), 'warmbox-repo-template-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  return directory
}

export const repository = async (options: Parameters<typeof createRepository>[0] = {}): Promise<Repository> => {
  const made = await createRepository(options)
  onTestFinished(() => made.remove())
  return made
}

export const serve = async (options: GitServerOptions): Promise<GitServer> => {
  const server = await startGitServer(options)
  onTestFinished(() => server.close())
  return server
}

/** Sets variables of this process for the running test. */
export const setEnvironment = (variables: Readonly<Record<string, string>>): void => {
  for (const [name, value] of Object.entries(variables)) {
    const before = process.env[name]
    process.env[name] = value
    onTestFinished(() => {
      if (before === undefined) delete process.env[name]
      else process.env[name] = before
    })
  }
}

export interface Widgets {
  readonly repository: Repository
  readonly server: GitServer
  /** Commit of the default branch. */
  readonly sha: string
  readonly access: RepositoryAccess
}

/** A private repository with one commit, behind {@link token}. */
export const widgets = async (
  options: Partial<GitServerOptions> = {},
  made: Parameters<typeof repository>[0] = {},
): Promise<Widgets> => {
  const created = await repository(made)
  const sha = await created.commit({ 'README.md': 'widgets\n', 'pnpm-lock.yaml': 'lockfileVersion: 9\n' })
  const server = await serve({ repositories: { 'acme/widgets.git': created.path }, token, ...options })
  return {
    repository: created,
    server,
    sha,
    access: { cloneUrl: server.cloneUrl('acme/widgets.git'), authorization: { scheme: 'bearer', token } },
  }
}

export interface RecordedGit {
  /** One line per started git, the server's own left out: its arguments. */
  calls(): Promise<readonly string[]>
}

/** Puts a `git` in front of the real one that notes its arguments and then becomes it. */
export const recordGit = async (): Promise<RecordedGit> => {
  const directory = await temporaryDirectory()
  const log = join(directory, 'calls')
  const bin = join(directory, 'bin')
  const path = process.env['PATH'] ?? ''
  await mkdir(bin)
  await writeFile(log, '')
  await writeFile(
    join(bin, 'git'),
    `#!/bin/bash\nprintf '%s ' "$@" >> '${log}'\nprintf '\\n' >> '${log}'\nPATH='${path}' exec git "$@"\n`,
  )
  await chmod(join(bin, 'git'), 0o755)
  setEnvironment({ PATH: `${bin}${delimiter}${path}` })
  return {
    calls: async () =>
      (await readFile(log, 'utf8')).split('\n').filter((line) => line !== '' && !line.startsWith('http-backend')),
  }
}
