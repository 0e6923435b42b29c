import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeEach, describe, expect, test } from 'vitest'
import { syncRepository, type SyncableSandbox, type SyncOptions, type SyncResult } from '@warmbox/repo-template'
import { needles, temporaryDirectory, widgets, type Widgets } from './support/fixtures.ts'
import { localSandbox, type LocalSandbox } from './support/local-sandbox.ts'

const execute = promisify(execFile)

interface Scene extends Widgets {
  readonly sandbox: LocalSandbox
  readonly path: string
  sync(options?: Partial<SyncOptions>): Promise<SyncResult>
}

const scene = async (): Promise<Scene> => {
  const given = await widgets()
  const directory = await temporaryDirectory()
  const authority = join(directory, 'authority.pem')
  await writeFile(authority, given.server.certificateAuthority)
  const sandbox = await localSandbox({ GIT_SSL_CAINFO: authority, GIT_CONFIG_NOSYSTEM: '1' })
  const path = join(directory, 'widgets')
  return {
    ...given,
    sandbox,
    path,
    sync: (options = {}) =>
      syncRepository(sandbox, {
        getRepositoryAccess: () => Promise.resolve(given.access),
        certificateAuthority: given.server.certificateAuthority,
        workingDirectory: path,
        setupCommand: 'echo ran >> ../setup.log',
        ...options,
      }),
  }
}

const setupRuns = async (path: string): Promise<number> =>
  (await readFile(join(path, '..', 'setup.log'), 'utf8')).trim().split('\n').length

const git = async (path: string, ...args: string[]): Promise<string> => {
  const identity = ['-c', 'user.name=Someone', '-c', 'user.email=someone@localhost']
  return (await execute('git', ['-C', path, ...identity, ...args])).stdout.trim()
}

let at: Scene
beforeEach(async () => {
  at = await scene()
})

describe('a cold sandbox', () => {
  test('gets a clone at the head, and setup', async () => {
    expect(await at.sync()).toEqual({
      from: undefined,
      to: at.sha,
      head: at.sha,
      drift: false,
      reran: true,
      cold: true,
      path: at.path,
      kept: undefined,
      changed: [],
    })
    expect(await git(at.path, 'rev-parse', 'HEAD')).toBe(at.sha)
    expect(await git(at.path, 'status', '--porcelain')).toBe('')
    expect(await setupRuns(at.path)).toBe(1)
  })

  test('gets it over an interrupted clone, whose files are set aside', async () => {
    await mkdir(join(at.path, '.git', 'objects'), { recursive: true })
    await writeFile(join(at.path, '.git', 'HEAD'), 'ref: refs/heads/main\n')
    await writeFile(join(at.path, 'notes.txt'), 'mine')
    expect(await at.sync()).toMatchObject({ cold: true, to: at.sha })
    const aside = (await readdir(join(at.path, '..'))).find((name) => name.startsWith('widgets.before-sync.'))
    expect(await readFile(join(at.path, '..', aside ?? '', 'widgets', 'notes.txt'), 'utf8')).toBe('mine')
  })

  test('keeps nothing of a clone that failed, and the next try succeeds', async () => {
    at.server.setToken('another')
    await expect(at.sync({ sha: at.sha })).rejects.toMatchObject({ code: 'SYNC_FAILED' })
    expect(await readdir(join(at.path, '..'))).toEqual(['authority.pem'])
    at.server.setToken(at.access.authorization?.token ?? '')
    expect(await at.sync()).toMatchObject({ cold: true, to: at.sha })
  })
})

describe('a warm sandbox', () => {
  beforeEach(async () => {
    await at.sync()
  })

  test('at the head is left alone', async () => {
    const before = at.server.requests.length
    expect(await at.sync()).toMatchObject({ from: at.sha, to: at.sha, drift: false, reran: false, cold: false })
    expect(await setupRuns(at.path)).toBe(1)
    // The head lookup, and no fetch.
    expect(at.server.requests.length - before).toBe(1)
  })

  test('moves to a new head, without setup where the lockfile is the same', async () => {
    const head = await at.repository.commit({ 'README.md': 'new\n' })
    expect(await at.sync()).toMatchObject({ from: at.sha, to: head, drift: false, reran: false, cold: false })
    expect(await git(at.path, 'rev-parse', 'HEAD')).toBe(head)
    expect(await readFile(join(at.path, 'README.md'), 'utf8')).toBe('new\n')
    expect(await setupRuns(at.path)).toBe(1)
  })

  test('runs setup again where the lockfile changed', async () => {
    const head = await at.repository.commit({ 'pnpm-lock.yaml': 'lockfileVersion: 10\n' })
    expect(await at.sync()).toMatchObject({ to: head, drift: true, reran: true })
    expect(await setupRuns(at.path)).toBe(2)
    expect(await at.sync()).toMatchObject({ drift: false, reran: false })
  })

  test('runs a setup that failed again, although the checkout is there and the head moved on', async () => {
    await at.repository.commit({ 'pnpm-lock.yaml': 'lockfileVersion: 10\n' })
    await expect(at.sync({ setupCommand: 'exit 3' })).rejects.toMatchObject({
      code: 'SETUP_FAILED',
      message: 'setup 1 of 1 failed with exit code 3',
    })
    const head = await at.repository.commit({ 'README.md': 'further\n' })
    expect(await at.sync()).toMatchObject({ to: head, drift: true, reran: true })
    expect(await setupRuns(at.path)).toBe(2)
  })

  test('goes back to an older commit when asked to', async () => {
    await at.repository.commit({ 'README.md': 'new\n' })
    await at.sync()
    expect(await at.sync({ sha: at.sha })).toMatchObject({ to: at.sha, kept: undefined })
    expect(await readFile(join(at.path, 'README.md'), 'utf8')).toBe('widgets\n')
  })

  test('undoes what setup changed in tracked files, and nothing else, to move', async () => {
    await at.sync({ setupCommand: [] })
    await at.repository.commit({ 'pnpm-lock.yaml': 'lockfileVersion: 10\n' })
    await at.sync({ setupCommand: 'echo extra >> pnpm-lock.yaml; echo new > untracked' })
    expect(await git(at.path, 'status', '--porcelain')).toBe('M pnpm-lock.yaml\n?? untracked')
    const head = await at.repository.commit({ 'pnpm-lock.yaml': 'lockfileVersion: 11\n' })
    expect(await at.sync()).toMatchObject({ to: head, kept: undefined, changed: [] })
    expect(await readFile(join(at.path, 'pnpm-lock.yaml'), 'utf8')).toBe('lockfileVersion: 11\n')
    expect(await readFile(join(at.path, 'untracked'), 'utf8')).toBe('new\n')
  })
})

describe('work in the sandbox', () => {
  let head: string
  beforeEach(async () => {
    await at.sync()
    head = await at.repository.commit({ 'README.md': 'new\n', 'added.txt': 'theirs\n' })
  })

  const expectKept = async (kept: string, changed: readonly string[] = []): Promise<void> => {
    expect(await at.sync()).toMatchObject({ from: at.sha, head, kept, reran: false, changed })
  }

  test('in a tracked file keeps the checkout where it is', async () => {
    await writeFile(join(at.path, 'README.md'), 'mine\n')
    await expectKept('changes', ['README.md'])
    expect(await readFile(join(at.path, 'README.md'), 'utf8')).toBe('mine\n')
  })

  test('that is staged does too', async () => {
    await writeFile(join(at.path, 'mine.txt'), 'mine\n')
    await git(at.path, 'add', 'mine.txt')
    await expectKept('changes', ['mine.txt'])
    expect(await git(at.path, 'diff', '--cached', '--name-only')).toBe('mine.txt')
  })

  test('in a file the new commit brings does too', async () => {
    await writeFile(join(at.path, 'added.txt'), 'mine\n')
    await expectKept('untracked')
    expect(await readFile(join(at.path, 'added.txt'), 'utf8')).toBe('mine\n')
  })

  test('in a file that is ignored and that the new commit brings does too', async () => {
    await writeFile(join(at.path, '.git/info/exclude'), 'added.txt\n')
    await writeFile(join(at.path, 'added.txt'), 'mine\n')
    await expectKept('untracked')
    expect(await readFile(join(at.path, 'added.txt'), 'utf8')).toBe('mine\n')
  })

  test('is not blamed for a checkout that fails', async () => {
    await writeFile(join(at.path, '.git/info/attributes'), 'added.txt filter=broken\n')
    await git(at.path, 'config', 'filter.broken.smudge', 'false')
    await git(at.path, 'config', 'filter.broken.required', 'true')
    await expect(at.sync()).rejects.toMatchObject({ code: 'SYNC_FAILED' })
  })

  test('on a branch does too', async () => {
    await git(at.path, 'switch', '--create', 'work')
    await writeFile(join(at.path, 'mine.txt'), 'mine\n')
    await git(at.path, 'add', 'mine.txt')
    await git(at.path, 'commit', '--message', 'Mine')
    const mine = await git(at.path, 'rev-parse', 'HEAD')
    expect(await at.sync()).toMatchObject({ to: mine, kept: 'commits' })
    expect(await git(at.path, 'branch', '--show-current')).toBe('work')
  })

  test('committed without a branch does too', async () => {
    await git(at.path, 'commit', '--allow-empty', '--message', 'Mine')
    const mine = await git(at.path, 'rev-parse', 'HEAD')
    expect(await at.sync()).toMatchObject({ from: mine, to: mine, kept: 'commits' })
  })
})

describe('the credential', () => {
  test('is in no command, in no file of the checkout and in no error', async () => {
    await at.sync()
    await at.repository.commit({ 'README.md': 'new\n' })
    await at.sync()
    const failed = await at
      .sync({
        setupCommand: 'echo "$SECRET" >&2; exit 1',
        buildEnv: { SECRET: 'setup-secret' },
        workingDirectory: `${at.path}2`,
      })
      .catch((error: unknown) => error)
    expect(failed).toMatchObject({ code: 'SETUP_FAILED', message: 'setup 1 of 1 failed with exit code 1: ***' })
    const commands = at.sandbox.commands.join('\n')
    expect(needles.filter((needle) => commands.includes(needle))).toEqual([])
    const { stdout } = await execute('grep', ['-rlaF', ...needles.flatMap((needle) => ['-e', needle]), at.path]).catch(
      () => ({ stdout: '' }),
    )
    expect(stdout).toBe('')
    expect(await git(at.path, 'config', '--list', '--local')).not.toContain('extraheader')
  })

  test('is known to the one command that fetches', async () => {
    await at.sync()
    const seen: (Record<string, string> | undefined)[] = []
    const spying: SyncableSandbox = {
      executeCommand: async (command, args, options) => {
        seen.push(options?.env)
        const result = await at.sandbox.executeCommand?.(command, args, options)
        return result ?? { exitCode: 1, stdout: '', stderr: '', success: false }
      },
    }
    await at.repository.commit({ 'pnpm-lock.yaml': 'changed\n' })
    await syncRepository(spying, {
      getRepositoryAccess: () => Promise.resolve(at.access),
      certificateAuthority: at.server.certificateAuthority,
      workingDirectory: at.path,
      setupCommand: 'true',
    })
    const withCredential = seen.filter((env) => needles.some((needle) => JSON.stringify(env ?? {}).includes(needle)))
    expect(withCredential).toHaveLength(1)
  })
})

describe('is refused', () => {
  test('without a repository, with revoked access, with no answer, over a sandbox that runs nothing', async () => {
    await expect(at.sync({ getRepositoryAccess: undefined })).rejects.toMatchObject({ code: 'NO_REPOSITORY' })
    at.server.setToken('another')
    await expect(at.sync()).rejects.toMatchObject({ code: 'ACCESS_REFUSED' })
    await at.server.close()
    await expect(at.sync()).rejects.toMatchObject({ code: 'HEAD_UNREACHABLE' })
    await expect(
      syncRepository({}, { getRepositoryAccess: () => Promise.resolve(at.access), sha: at.sha }),
    ).rejects.toMatchObject({ code: 'SANDBOX_UNSUPPORTED' })
  })

  test('where the directory belongs to another repository', async () => {
    await at.sync()
    const cloneUrl = `${at.server.url}/acme/gadgets.git`
    await expect(
      at.sync({ getRepositoryAccess: () => Promise.resolve({ ...at.access, cloneUrl }), sha: at.sha }),
    ).rejects.toMatchObject({ code: 'CHECKOUT_FOREIGN' })
  })

  test('with a head that is no commit id, before anything ran', async () => {
    const cloneUrl = at.access.cloneUrl
    const resolveHead = () => Promise.resolve({ status: 'found' as const, sha: '$(touch canary)', cloneUrl })
    await expect(at.sync({ resolveHead })).rejects.toMatchObject({ code: 'SHA_INVALID' })
    expect(at.sandbox.commands).toEqual([])
  })

  test('once aborted, before anything ran', async () => {
    await expect(at.sync({ signal: AbortSignal.abort(new Error('closing')) })).rejects.toThrow('closing')
    expect(at.sandbox.commands).toEqual([])
  })
})
