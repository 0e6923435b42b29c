import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { LocalSandbox } from '@mastra/core/workspace'
import { expect, onTestFinished, test } from 'vitest'
import { reportBoot, syncRepository, type SyncableSandbox, type SyncOptions } from '@warmbox/repo-template'
import { needles, temporaryDirectory, widgets } from './support/fixtures.ts'
import { addSubmodules } from './support/submodules.ts'

/** Over a sandbox of Mastra's own, which is no E2B sandbox and knows nothing of one. */
const execute = promisify(execFile)

const scene = async (options: Partial<SyncOptions> = {}) => {
  const given = await widgets()
  const directory = await temporaryDirectory()
  const path = join(directory, 'widgets')
  await writeFile(join(directory, 'authority.pem'), given.server.certificateAuthority)
  const sandbox = new LocalSandbox({
    workingDirectory: directory,
    env: {
      PATH: process.env['PATH'],
      HOME: directory,
      GIT_SSL_CAINFO: join(directory, 'authority.pem'),
      GIT_CONFIG_NOSYSTEM: '1',
    },
  })
  await sandbox.start()
  onTestFinished(() => sandbox.destroy())
  const sync = (more: Partial<SyncOptions> = {}) =>
    syncRepository(sandbox, {
      getRepositoryAccess: () => Promise.resolve(given.access),
      certificateAuthority: given.server.certificateAuthority,
      workingDirectory: path,
      setupCommand: 'mkdir -p ../ran; touch "../ran/$(git rev-parse HEAD)"',
      ...options,
      ...more,
    })
  const git = async (...args: string[]) => (await execute('git', ['-C', path, ...args])).stdout.trim()
  return { given, directory, path, sandbox, sync, git }
}

test('a sync clones, follows the head, runs setup on drift alone and keeps work', async () => {
  const { given, directory, path, sync, git } = await scene()
  expect(await sync()).toMatchObject({ from: undefined, to: given.sha, cold: true, reran: true, drift: false })
  const moved = await given.repository.commit({ 'README.md': 'moved\n' })
  expect(await sync()).toMatchObject({ from: given.sha, to: moved, cold: false, reran: false, drift: false })
  const drifted = await given.repository.commit({ 'pnpm-lock.yaml': 'lockfileVersion: 10\n' })
  expect(await sync()).toMatchObject({ from: moved, to: drifted, reran: true, drift: true })
  expect(await git('rev-parse', 'HEAD')).toBe(drifted)
  expect(await git('status', '--porcelain')).toBe('')
  await writeFile(join(path, 'README.md'), 'mine\n')
  await given.repository.commit({ 'README.md': 'theirs\n' })
  expect(await sync()).toMatchObject({ to: drifted, kept: 'changes', changed: ['README.md'] })
  expect(await readFile(join(path, 'README.md'), 'utf8')).toBe('mine\n')
  const { stdout } = await execute('grep', ['-rlaF', ...needles.flatMap((needle) => ['-e', needle]), directory]).catch(
    (error: { stdout: string }) => error,
  )
  expect(stdout).toBe('')
})

test('a sync brings submodules along, also after it was interrupted before them', async () => {
  const { given, sync, git } = await scene({ submodules: true })
  const first = await addSubmodules(given.repository, { 'parts/same': { url: '../widgets.git', sha: given.sha } })
  expect(await sync()).toMatchObject({ to: first, cold: true })
  expect(await git('submodule', 'status')).toMatch(new RegExp(`^${given.sha} parts/same`))
  const second = await addSubmodules(given.repository, { 'parts/same': { url: '../widgets.git', sha: first } })
  const controller = new AbortController()
  const onEvent: SyncOptions['onEvent'] = ({ step }) => {
    if (step === 'checkout') controller.abort(new Error('closing'))
  }
  await expect(sync({ signal: controller.signal, onEvent })).rejects.toThrow('closing')
  expect(await git('rev-parse', 'HEAD')).toBe(second)
  expect(await git('submodule', 'status')).toMatch(/^\+/)
  expect(await sync()).toMatchObject({ to: second, kept: undefined })
  expect(await git('submodule', 'status')).toMatch(new RegExp(`^ ?${first} parts/same`))
})

test('a report says what was booted, how old it is, and whether the lockfiles changed since', async () => {
  const { given, directory, path, sandbox, sync } = await scene()
  // An image's `/home/user` is elsewhere here.
  const moved: SyncableSandbox = {
    executeCommand: async (command, args = [], options) => {
      const here = args.map((argument) => argument.replaceAll('/home/user', directory))
      const result = await sandbox.executeCommand?.(command, here, options)
      if (result === undefined) throw new TypeError('LocalSandbox runs commands')
      return result
    },
  }
  expect(await reportBoot(moved)).toBeUndefined()
  await sync()
  const record = await readFile(join(path, '.git/warmbox.json'), 'utf8')
  const baked = { ...JSON.parse(record), builtAt: new Date(Date.now() - 60_000).toISOString() }
  await mkdir(join(directory, '.warmbox'))
  await writeFile(join(directory, '.warmbox/template.json'), JSON.stringify(baked))
  const { ageMs, ...report } = (await reportBoot(moved)) ?? { ageMs: 0 }
  expect(report).toEqual({
    repository: given.access.cloneUrl.replace(/\.git$/, ''),
    path,
    sha: given.sha,
    builtAt: new Date(baked.builtAt),
    head: given.sha,
    lockfilesChanged: false,
  })
  expect(ageMs).toBeGreaterThanOrEqual(60_000)
  const head = await given.repository.commit({ 'pnpm-lock.yaml': 'lockfileVersion: 10\n' })
  await sync()
  expect(await reportBoot(moved)).toMatchObject({ sha: given.sha, head, lockfilesChanged: true })
  for (const text of ['not a record', JSON.stringify({ ...baked, builtAt: 'never' })]) {
    // oxlint-disable-next-line no-await-in-loop -- of one file
    await writeFile(join(directory, '.warmbox/template.json'), text)
    // oxlint-disable-next-line no-await-in-loop
    expect(await reportBoot(moved)).toBeUndefined()
  }
  await expect(reportBoot({})).rejects.toMatchObject({ code: 'SANDBOX_UNSUPPORTED' })
})
