import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmod, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { inspect, promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { createEmulator, createScriptedRuntime, type Emulator, probeNamespaces } from '@warmbox/e2b-emulator'
import { digestText } from '@warmbox/identity'
import type { ResolutionEvent } from '@warmbox/resolution'
import { refreshRepoTemplate, type RepoTemplateOptions } from '@warmbox/repo-template'
import {
  needles,
  recordGit,
  serve,
  setEnvironment,
  temporaryDirectory,
  type Widgets,
  widgets,
} from './support/fixtures.ts'
import { listing } from './support/listing.ts'
import { addSubmodules } from './support/submodules.ts'
import { recordRequests, type RecordingServer } from './support/recording-server.ts'

const execute = promisify(execFile)
const namespaces = await probeNamespaces()
const reason = namespaces.available ? '' : ` (skipped: ${namespaces.reason})`
const apiKey = 'e2b_0123abcd'

const optionsOf = (given: Widgets, options: Partial<RepoTemplateOptions> = {}): RepoTemplateOptions => ({
  getRepositoryAccess: () => Promise.resolve(given.access),
  certificateAuthority: given.server.certificateAuthority,
  headTimeoutMs: 60_000,
  source: 'upload',
  ...options,
})

/** From here on what this process puts into temporary directories is all there is in this one. */
const watchTemporary = async (): Promise<() => Promise<readonly string[]>> => {
  const directory = await temporaryDirectory()
  setEnvironment({ TMPDIR: directory })
  // The emulator keeps the uploads it was given there too.
  return async () => (await readdir(directory)).filter((name) => !name.startsWith('warmbox-emulator-'))
}

describe('what the build service is told', () => {
  let emulator: Emulator
  let server: RecordingServer
  beforeEach(async () => {
    emulator = createEmulator({ runtime: createScriptedRuntime(), apiKey })
    const running = emulator
    onTestFinished(() => running.close())
    server = await recordRequests(emulator, apiKey)
  })

  const refresh = async (options: RepoTemplateOptions, signal?: AbortSignal) => {
    const events: ResolutionEvent[] = []
    const outcome = await refreshRepoTemplate(options, {
      ...server.connection,
      onEvent: (event) => events.push(event),
      ...(signal === undefined ? {} : { signal }),
    }).catch((error: unknown) => error)
    return {
      outcome,
      told: `${JSON.stringify([events, outcome])} ${inspect([events, outcome], { depth: 20, showHidden: true })}`,
    }
  }

  test('is no credential: in no request, archive, step or log of its own', async () => {
    const given = await widgets()
    const git = await recordGit()
    const { outcome, told } = await refresh(optionsOf(given, { setupCommand: 'true' }))
    expect(outcome).toMatchObject({ action: 'built', sha: given.sha })
    const { bodies } = server
    const archives = bodies.filter((body) => body[0] === 0x1f && body[1] === 0x8b).map((body) => gunzipSync(body))
    expect(archives).toHaveLength(1)
    expect(archives[0]?.includes('repository/.git/objects/pack')).toBe(true)
    const sent = [...bodies, ...archives].map((body) => body.toString('latin1')).join('\n')
    expect(sent).toContain('# checkout')
    const logs = JSON.stringify(emulator.control.builds().map((build) => build.logs))
    const argv = (await git.calls()).join('\n')
    expect(argv).toContain('fetch --quiet')
    expect(needles.filter((needle) => [sent, logs, told, argv].some((text) => text.includes(needle)))).toEqual([])
    expect(sent).not.toContain('WARMBOX_GIT_CREDENTIAL')
  })

  test('of a build there is already is nothing, and nothing is cloned', async () => {
    const given = await widgets()
    await refresh(optionsOf(given))
    const git = await recordGit()
    expect((await refresh(optionsOf(given))).outcome).toMatchObject({ action: 'reused' })
    expect(await git.calls()).toEqual([])
  })

  test('leaves nothing on this machine, built or not', async () => {
    const given = await widgets()
    const left = await watchTemporary()
    await refresh(optionsOf(given))
    expect(await left()).toEqual([])
    given.server.setToken('another')
    const { outcome, told } = await refresh(optionsOf(given, { sha: given.sha, salt: 'other' }))
    expect(outcome).toMatchObject({ cause: { code: 'CLONE_FAILED' } })
    expect(needles.filter((needle) => told.includes(needle))).toEqual([])
    expect(await left()).toEqual([])
    expect(emulator.control.builds().filter(({ status }) => status !== 'ready')).toEqual([])
  })

  test('that cannot be cloned is the repository’s failure, and is not tried again', async () => {
    const given = await widgets({
      intercept: (request, response) => {
        if (request.method !== 'POST') return false
        response.writeHead(401).end()
        return true
      },
    })
    const git = await recordGit()
    const { outcome } = await refresh(optionsOf(given))
    expect(outcome).toMatchObject({ code: 'BUILD_STEP_FAILED', step: 'files', cause: { code: 'CLONE_FAILED' } })
    expect((await git.calls()).filter((call) => call.includes(' init '))).toHaveLength(1)
  })

  test('finds what a killed process left on this machine, and removes that alone', async () => {
    const given = await widgets()
    await watchTemporary()
    const directory = process.env['TMPDIR'] ?? ''
    const { stdout } = await execute('sh', ['-c', 'echo $$'])
    const machine = digestText(hostname()).slice(0, 16)
    const nameOf = (pid: string | number, of = machine) => `warmbox-upload-${of}-${pid}-${randomUUID()}`
    const dead = nameOf(stdout.trim())
    const others = [nameOf(process.pid), nameOf(stdout.trim(), '0'.repeat(16)), 'warmbox-upload-mine']
    for (const name of [dead, ...others]) await mkdir(join(directory, name, 'repository'), { recursive: true })
    await refresh(optionsOf(given))
    const left = (await readdir(directory)).filter((name) => !name.startsWith('warmbox-emulator-'))
    expect(new Set(left)).toEqual(new Set(others))
  })

  test('ends with the caller’s signal, and in its time', async () => {
    const silent = await serve({ repositories: {}, intercept: () => true })
    const given: Widgets = {
      ...(await widgets()),
      server: silent,
      access: { cloneUrl: silent.cloneUrl('silent') },
    }
    const left = await watchTemporary()
    const { sha } = given
    const slow = await refresh(optionsOf(given, { sha, cloneTimeoutMs: 1500 }))
    expect(slow.outcome).toMatchObject({
      cause: { code: 'CLONE_FAILED', message: expect.stringContaining('no answer within 1500 ms') },
    })
    const controller = new AbortController()
    const before = silent.requests.length
    const aborted = refresh(optionsOf(given, { sha }), controller.signal)
    await expect.poll(() => silent.requests.length, { timeout: 30_000 }).toBeGreaterThan(before)
    controller.abort(new Error('closing'))
    expect((await aborted).outcome).toMatchObject({ message: 'closing' })
    await expect.poll(left).toEqual([])
  })

  test('comes from no host that is not allowed', async () => {
    const given = await widgets()
    const { outcome } = await refresh(optionsOf(given, { allowedHosts: ['*'], sha: given.sha }))
    expect(outcome).toMatchObject({ code: 'ACCESS_REFUSED' })
    expect(given.server.requests).toEqual([])
  })
})

describe.skipIf(!namespaces.available)(`on real processes${reason}`, () => {
  test('the image is the one the build would have cloned', { timeout: 300_000 }, async () => {
    const given = await widgets()
    const work = await temporaryDirectory()
    const git = (...args: string[]) =>
      execute('git', ['-c', 'user.name=W', '-c', 'user.email=w@localhost', '-C', work, ...args])
    await execute('git', ['clone', '--quiet', given.repository.path, work])
    await mkdir(join(work, 'bin'))
    await writeFile(join(work, 'bin/run'), '#!/bin/sh\n')
    await chmod(join(work, 'bin/run'), 0o755)
    await symlink('../README.md', join(work, 'bin/link'))
    await writeFile(join(work, '.dockerignore'), '*\n')
    await writeFile(join(work, '.gitignore'), 'ignored\n')
    await writeFile(join(work, 'a [b]*{c} "d" žluť'), 'odd name\n')
    await git('add', '--all')
    await git('commit', '--quiet', '--message', 'Odd files')
    await git('push', '--quiet', 'origin', 'HEAD:main')
    const sha = await addSubmodules(given.repository, {
      'parts/same': { url: '../widgets.git', sha: given.sha },
    })

    const emulator = createEmulator({ runtime: 'real', certificateAuthorities: [given.server.certificateAuthority] })
    onTestFinished(() => emulator.close())
    const { connection } = await emulator.listen()
    const build = async (changed: Partial<RepoTemplateOptions>) => {
      const setupCommand = 'mkdir ignored; touch ignored/made'
      const options = optionsOf(given, { submodules: true, setupCommand, ...changed })
      const { ref, action } = await refreshRepoTemplate(options, { ...connection, force: true })
      expect(action).toBe('built')
      const image = await emulator.control.filesystemOf(ref)
      onTestFinished(() => image.release())
      const checkout = join(image.directory, 'home/user/widgets')
      const ask = async (...args: string[]) =>
        (await execute('git', ['-c', 'safe.directory=*', '-C', checkout, ...args])).stdout.trim()
      return {
        ref,
        home: image.directory,
        files: await listing(join(image.directory, 'home/user'), /(?:^|\/)\.git(?:\/|$)|^\.warmbox\/template\.json$/),
        git: await Promise.all([
          ask('rev-parse', 'HEAD'),
          ask('status', '--porcelain'),
          ask('remote', '--verbose'),
          ask('branch', '--all'),
          ask('rev-list', '--count', 'HEAD'),
          ask('submodule', 'status'),
        ]),
      }
    }
    const cloned = await build({ source: 'clone' })
    const uploaded = await build({ source: 'upload' })
    expect(uploaded.ref).toBe(cloned.ref)
    const unpinned = await build({ resolveHead: () => Promise.resolve({ status: 'unreachable', reason: 'offline' }) })
    expect(unpinned.ref).toMatch(/:unpinned$/)
    expect([unpinned.files, unpinned.git]).toEqual([uploaded.files, uploaded.git])
    expect(cloned.files.some((line) => line.startsWith('widgets/parts/same/README.md '))).toBe(true)
    expect(uploaded.files).toEqual(cloned.files)
    expect(uploaded.files.length).toBeGreaterThan(8)
    expect(uploaded.git).toEqual(cloned.git)
    expect(uploaded.git.slice(0, 2)).toEqual([sha, ''])
  })

  test('a repository of SHA-256 ids is built from nothing and on the build before', { timeout: 300_000 }, async () => {
    const given = await widgets({}, { objectFormat: 'sha256' })
    const emulator = createEmulator({ runtime: 'real' })
    onTestFinished(() => emulator.close())
    const { connection } = await emulator.listen()
    const checkedOut = async (kind: 'clean' | 'incremental', sha: string) => {
      const { ref, build } = await refreshRepoTemplate(optionsOf(given, { setupCommand: 'true' }), connection)
      expect(build).toBe(kind)
      expect(ref).toMatch(new RegExp(`:sha-${sha}$`))
      const image = await emulator.control.filesystemOf(ref)
      onTestFinished(() => image.release())
      const checkout = join(image.directory, 'home/user/widgets')
      const ask = (...args: string[]) => execute('git', ['-c', 'safe.directory=*', '-C', checkout, ...args])
      expect((await ask('rev-parse', 'HEAD')).stdout.trim()).toBe(sha)
      expect((await ask('status', '--porcelain')).stdout).toBe('')
      return readFile(join(checkout, 'README.md'), 'utf8')
    }
    expect(given.sha).toHaveLength(64)
    expect(await checkedOut('clean', given.sha)).toBe('widgets\n')
    expect(await checkedOut('incremental', await given.repository.commit({ 'README.md': 'moved\n' }))).toBe('moved\n')
  })
})
