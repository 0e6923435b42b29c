import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'

import { parseCloneUrl } from '@warmbox/identity'
import { resolveHead, type HeadResolver } from '@warmbox/repo-template'
import { startGitServer } from '@warmbox/git-server'

import { git, tokenEnvironment } from './git.ts'
import { UsageError, type DemoOptions, type RepositoryChoice } from './options.ts'

/** The repository of the walk, and the one thing the walk does to it: move its head. */
export interface Origin {
  readonly description: string
  readonly cloneUrl: string
  readonly token: string | undefined
  /** PEM of the authority behind the server's certificate, where it is not a public one. */
  readonly certificateAuthority: string | undefined
  /** Answers in place of the server, where the server's head cannot be moved. */
  readonly resolveHead: HeadResolver | undefined
  /** Moves the head one commit on and answers the new one. */
  advance(): Promise<string>
  close(): Promise<void>
}

export const openOrigin = (options: DemoOptions, signal: AbortSignal): Promise<Origin> =>
  options.platform === 'e2b' && options.repository.kind === 'url'
    ? openRemote(options.repository.url, options.repositoryToken, signal)
    : serveCopy(options.repository, options.repositoryToken, signal)

/**
 * A bare copy of the repository, served on loopback over TLS behind a token minted for this run: a private repository
 * whose head the walk may move without touching anyone's history.
 */
async function serveCopy(
  choice: RepositoryChoice,
  sourceToken: string | undefined,
  signal: AbortSignal,
): Promise<Origin> {
  const scratch = await mkdtemp(join(tmpdir(), 'warmbox-origin-'))
  try {
    const { source, name } = describeSource(choice)
    const bare = join(scratch, `${name}.git`)
    // git refuses a checkout of another user's; this one was named by whoever runs the walk, and is only read.
    const trusting = join(scratch, 'gitconfig')
    await writeFile(trusting, '[safe]\n\tdirectory = *\n')
    const credential = choice.kind === 'url' ? tokenEnvironment(source, sourceToken) : {}
    await copyRepository(source, bare, { GIT_CONFIG_GLOBAL: trusting, ...credential }, signal)
    const token = `wbx_${randomBytes(24).toString('hex')}`
    const repository = `demo/${name}.git`
    const server = await startGitServer({ repositories: { [repository]: bare }, token })
    return {
      description: `${source}, served as ${server.cloneUrl(repository)} behind a token`,
      cloneUrl: server.cloneUrl(repository),
      token,
      certificateAuthority: server.certificateAuthority,
      resolveHead: undefined,
      advance: () => commitOnTop(bare),
      close: async () => {
        await server.close()
        await rm(scratch, { recursive: true, force: true })
      },
    }
  } catch (error) {
    await rm(scratch, { recursive: true, force: true })
    throw error
  }
}

function describeSource(choice: RepositoryChoice): { source: string; name: string } {
  switch (choice.kind) {
    case 'own':
      return { source: resolve(import.meta.dirname, '../../..'), name: 'warmbox' }
    case 'path': {
      const source = resolve(process.env['INIT_CWD'] ?? '.', choice.path)
      return {
        source,
        name:
          basename(source)
            .replace(/\.git$/, '')
            .replace(/[^A-Za-z0-9_-]/g, '-') || 'repository',
      }
    }
    case 'url':
      return { source: choice.url, name: parseCloneUrl(choice.url).directory }
  }
}

async function copyRepository(
  source: string,
  bare: string,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<void> {
  try {
    await git(['clone', '--quiet', '--bare', '--no-hardlinks', '--', source, bare], { cwd: tmpdir(), env, signal })
    await git(['rev-parse', '--verify', 'HEAD^{commit}'], { cwd: bare, signal })
  } catch (error) {
    signal.throwIfAborted()
    throw new UsageError(
      `${source} is not a git repository with at least one commit that can be read: give another by --repo.`,
      {
        cause: error,
      },
    )
  }
}

async function commitOnTop(bare: string): Promise<string> {
  const identity = {
    GIT_AUTHOR_NAME: 'demo',
    GIT_AUTHOR_EMAIL: 'demo@localhost',
    GIT_COMMITTER_NAME: 'demo',
    GIT_COMMITTER_EMAIL: 'demo@localhost',
  }
  const env = { ...identity, GIT_INDEX_FILE: join(bare, 'demo-index') }
  const parent = await git(['rev-parse', 'HEAD'], { cwd: bare })
  const blob = await git(['hash-object', '-w', '--stdin'], { cwd: bare, input: `The commit after ${parent}\n` })
  await git(['read-tree', parent], { cwd: bare, env })
  await git(['update-index', '--add', '--cacheinfo', `100644,${blob},DEMO.txt`], { cwd: bare, env })
  const tree = await git(['write-tree'], { cwd: bare, env })
  const commit = await git(['commit-tree', tree, '-p', parent, '-m', 'Move the head for the demo'], { cwd: bare, env })
  await git(['update-ref', 'HEAD', commit], { cwd: bare })
  return commit
}

/** The repository where it is. Its head cannot be moved from here, so the walk starts one commit behind it. */
async function openRemote(url: string, token: string | undefined, signal: AbortSignal): Promise<Origin> {
  const behind = await commitsBehindHead(url, tokenEnvironment(url, token), signal)
  let position = behind.length - 1
  return {
    description: url,
    cloneUrl: url,
    token,
    certificateAuthority: undefined,
    resolveHead: async (access, options) => {
      const head = await resolveHead(access, options)
      const pretended = behind[position]
      return head.status === 'found' && pretended !== undefined ? { ...head, sha: pretended } : head
    },
    advance: async () => {
      position = Math.max(0, position - 1)
      const head = behind[position]
      if (head === undefined) throw new Error('no commit to move to')
      return head
    },
    close: async () => {},
  }
}

/** The newest commits of the default branch, newest first: as many as the walk moves over, fewer in a shorter history. */
async function commitsBehindHead(
  url: string,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<string[]> {
  const scratch = await mkdtemp(join(tmpdir(), 'warmbox-heads-'))
  try {
    await git(['init', '--quiet', '--bare'], { cwd: scratch, signal })
    await git(['fetch', '--quiet', '--depth', '3', '--filter=tree:0', '--', url, 'HEAD'], { cwd: scratch, env, signal })
    const list = await git(['rev-list', '--first-parent', 'FETCH_HEAD'], { cwd: scratch, signal })
    return list.split('\n')
  } catch (error) {
    signal.throwIfAborted()
    throw new UsageError(`${url} cannot be read: check the URL, or set WARMBOX_REPOSITORY_TOKEN where it is private.`, {
      cause: error,
    })
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}
