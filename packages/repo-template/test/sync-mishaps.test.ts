import { execFile } from 'node:child_process'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeEach, describe, expect, test } from 'vitest'
import { syncRepository, type SyncableSandbox } from '@warmbox/repo-template'
import { needles, temporaryDirectory } from './support/fixtures.ts'
import { localSandbox } from './support/local-sandbox.ts'
import { git, syncScene, type SyncScene } from './support/sync-scene.ts'

// What a crash, a full disk, another user or an odd sandbox leaves a sync to deal with.

const execute = promisify(execFile)

/** Another user's files can be made by root alone. */
const isRoot = process.getuid?.() === 0

let at: SyncScene
beforeEach(async () => {
  at = await syncScene()
})

describe('a broken checkout inside of another one', () => {
  test.each([
    ['the same repository', (outer: string) => at.sync({ workingDirectory: outer })],
    ['an unrelated one', (outer: string) => execute('git', ['init', '--quiet', outer])],
  ])('of %s is set aside, and the other one is not touched', async (_title, make) => {
    const outer = join(at.path, '..', 'outer')
    const inner = join(outer, 'inner')
    await make(outer)
    await git(outer, 'commit', '--quiet', '--allow-empty', '--message', 'Outer')
    const before = await git(outer, 'rev-parse', 'HEAD')
    await mkdir(join(inner, '.git'), { recursive: true })
    await writeFile(join(inner, 'mine'), 'mine\n')
    const head = await at.repository.commit({ 'README.md': 'moved\n' })
    const { setAside, ...result } = await at.sync({ workingDirectory: inner })
    expect(result).toMatchObject({ cold: true, to: head, kept: undefined })
    expect(await readFile(join(setAside ?? '', 'mine'), 'utf8')).toBe('mine\n')
    expect(await git(outer, 'rev-parse', 'HEAD')).toBe(before)
    expect(await git(inner, 'rev-parse', 'HEAD')).toBe(head)
  })
})

describe('a checkout', () => {
  let head: string
  beforeEach(async () => {
    await at.sync()
    head = await at.repository.commit({ 'README.md': 'moved\n', 'added.txt': 'theirs\n' })
  })

  test('whose fetch was cut off after the commit itself fetches the rest', async () => {
    const copy = 'git -C "$1" cat-file commit "$3" | git -C "$2" hash-object -w -t commit --stdin'
    const { stdout } = await execute('bash', ['-ec', copy, 'copy', at.repository.path, at.path, head])
    expect(stdout.trim()).toBe(head)
    expect(await at.sync()).toMatchObject({ to: head, kept: undefined })
  })

  test('that git has locked says so, and moves once it is not', async () => {
    const lock = join(at.path, '.git/index.lock')
    await writeFile(lock, '')
    await expect(at.sync()).rejects.toMatchObject({
      code: 'SYNC_FAILED',
      message: expect.stringContaining('index.lock'),
    })
    await rm(lock)
    expect(await at.sync()).toMatchObject({ to: head, kept: undefined })
  })

  test('keeps its marks, moved or not', async () => {
    const marks = () => git(at.path, 'ls-files', '-v')
    await git(at.path, 'update-index', '--assume-unchanged', 'README.md')
    await git(at.path, 'update-index', '--skip-worktree', 'pnpm-lock.yaml')
    const before = await marks()
    await writeFile(join(at.path, 'added.txt'), 'mine\n')
    expect(await at.sync()).toMatchObject({ kept: 'untracked' })
    expect(await marks()).toBe(before)
    await rm(join(at.path, 'added.txt'))
    expect(await at.sync()).toMatchObject({ to: head, kept: undefined })
    expect(await marks()).toBe(`h README.md\nH added.txt\nS pnpm-lock.yaml`)
    expect(await readFile(join(at.path, 'README.md'), 'utf8')).toBe('moved\n')
  })

  test('in which somebody replaced the commit has its files all the same', async () => {
    await git(at.path, 'fetch', '--quiet', at.repository.path, head)
    await git(at.path, 'replace', head, at.sha)
    expect(await at.sync()).toMatchObject({ to: head, kept: undefined })
    expect(await readFile(join(at.path, 'README.md'), 'utf8')).toBe('moved\n')
  })

  test.skipIf(!isRoot)('of another user moves where git was told to trust it (as root only)', async () => {
    const directory = await temporaryDirectory()
    const settings = join(directory, 'gitconfig')
    const authority = join(directory, 'authority.pem')
    await writeFile(settings, '[safe]\n\tdirectory = *\n')
    await writeFile(authority, at.server.certificateAuthority)
    await execute('chown', ['--recursive', '1234:1234', at.path])
    const sandbox = await localSandbox({ GIT_SSL_CAINFO: authority, GIT_CONFIG_GLOBAL: settings })
    const options = {
      getRepositoryAccess: () => Promise.resolve(at.access),
      certificateAuthority: at.server.certificateAuthority,
      workingDirectory: at.path,
    }
    expect(await syncRepository(sandbox, options)).toMatchObject({ to: head, kept: undefined })
  })
})

const syncIn = (executeCommand: () => Promise<ReturnType<typeof JSON.parse>>) => {
  const sandbox: SyncableSandbox = { executeCommand }
  return syncRepository(sandbox, {
    getRepositoryAccess: () => Promise.resolve(at.access),
    certificateAuthority: at.server.certificateAuthority,
  })
}

describe('a sandbox', () => {
  test.each(['null', '{}', '{"exitCode":0}', '{"exitCode":"0","stdout":"","stderr":""}'])(
    'that answers %s is told of it',
    async (answer) => {
      await expect(syncIn(() => Promise.resolve(JSON.parse(answer)))).rejects.toMatchObject({
        code: 'SANDBOX_UNSUPPORTED',
        field: 'sandbox',
        hint: expect.any(String),
      })
    },
  )

  test('that answers at once with nothing is told of it too', async () => {
    const nothing: ReturnType<typeof JSON.parse> = undefined
    await expect(syncIn(() => nothing)).rejects.toMatchObject({ code: 'SANDBOX_UNSUPPORTED' })
  })

  test('that quotes what it was given does not pass the credential on', async () => {
    const quoting = new Error(`no such variable: ${needles.join(' ')}`, { cause: { env: needles } })
    const error = await syncIn(() => Promise.reject(quoting)).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(Error)
    const text = JSON.stringify(error, ['message', 'cause', 'env', 'stack']) + String(error)
    expect(text).toContain('no such variable')
    expect(needles.filter((needle) => text.includes(needle))).toEqual([])
  })
})
