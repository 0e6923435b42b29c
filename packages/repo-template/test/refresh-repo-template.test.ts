import { inspect } from 'node:util'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { createEmulator, createScriptedRuntime, type Emulator } from '@warmbox/e2b-emulator'
import { emulatorHandlers } from '@warmbox/e2b-emulator/msw'
import type { ResolutionEvent } from '@warmbox/resolution'
import { type Head, refreshRepoTemplate, type RepoTemplateOptions, repoTemplateRef } from '@warmbox/repo-template'
import { needles, token } from './support/fixtures.ts'
import { network } from './support/network.ts'

const sha = 'a'.repeat(40)
const cloneUrl = 'https://git.example.com/acme/widgets.git'
const access = { cloneUrl, authorization: { scheme: 'bearer' as const, token } }
const apiKey = 'e2b_0123abcd'

let emulator: Emulator
let head: Head
beforeEach(() => {
  head = { status: 'found', sha, cloneUrl }
  emulator = createEmulator({ runtime: createScriptedRuntime(), apiKey })
  const running = emulator
  onTestFinished(() => running.close())
  network.use(...emulatorHandlers(emulator))
})

const refresh = (
  options: Partial<RepoTemplateOptions> = {},
  connection: Parameters<typeof refreshRepoTemplate>[1] = {},
) =>
  refreshRepoTemplate(
    { getRepositoryAccess: () => Promise.resolve(access), resolveHead: () => Promise.resolve(head), ...options },
    { apiKey, ...connection },
  )

const tags = (): Readonly<Record<string, string>> =>
  emulator.control.templates().find(({ name }) => name.includes('mastra-repo'))?.tags ?? {}
const builds = () => emulator.control.builds().filter(({ tags: names }) => names.some((name) => name !== 'default'))

describe('a refresh', () => {
  test('builds the head under its own tag, moves current to it, and reuses it from then on', async () => {
    const ref = repoTemplateRef({ cloneUrl, sha })
    expect(await refresh()).toEqual({ ref, action: 'built', build: 'clean', sha })
    expect(builds().map((build) => [build.tags, build.status])).toEqual([[[`sha-${sha}`], 'ready']])
    const only = builds()[0]?.buildId
    expect(tags()).toEqual({ [`sha-${sha}`]: only, current: only, clean: only })
    expect(await refresh()).toEqual({ ref, action: 'reused', sha })
    expect(builds()).toHaveLength(1)
  })

  test('follows a moved head within the same template', async () => {
    await refresh()
    const moved = 'b'.repeat(40)
    head = { status: 'found', sha: moved, cloneUrl }
    expect(await refresh()).toMatchObject({ ref: repoTemplateRef({ cloneUrl, sha: moved }), action: 'built' })
    expect(tags()['current']).toBe(tags()[`sha-${moved}`])
  })

  test('does not move current to a commit that is the head no longer', async () => {
    let lookups = 0
    const resolveHead = (): Promise<Head> => {
      lookups += 1
      return Promise.resolve({ status: 'found', sha: lookups === 1 ? sha : 'b'.repeat(40), cloneUrl })
    }
    expect(await refresh({ resolveHead })).toMatchObject({ action: 'built', sha })
    expect(Object.keys(tags())).toEqual([`sha-${sha}`])
  })

  test('of a branch leaves current alone', async () => {
    await refresh()
    const { current } = tags()
    head = { status: 'found', sha: 'b'.repeat(40), cloneUrl }
    await refresh({ branch: 'feature' })
    expect(tags()['current']).toBe(current)
    expect(Object.keys(tags()).filter((name) => name.startsWith('current-'))).toHaveLength(1)
  })

  test('of an unreachable head answers current; where there is none it builds under a tag that is no commit', async () => {
    head = { status: 'unreachable', reason: 'offline' }
    const current = repoTemplateRef({ cloneUrl })
    expect(await refresh()).toEqual({ ref: current.replace(':current', ':unpinned'), action: 'built', build: 'clean' })
    expect(Object.keys(tags())).toEqual(['unpinned'])
    head = { status: 'found', sha, cloneUrl }
    await refresh()
    head = { status: 'unreachable', reason: 'offline' }
    expect(await refresh()).toEqual({ ref: current, action: 'reused' })
  })

  test('builds again when forced', async () => {
    await refresh()
    expect(await refresh({}, { force: true })).toMatchObject({ action: 'built' })
    expect(builds()).toHaveLength(2)
  })

  test('asks the size it was told', async () => {
    await refresh({ cpuCount: 4, memoryMB: 4096 })
    expect(builds()).toHaveLength(1)
    expect(await refresh({ cpuCount: 4, memoryMB: 4096 })).toMatchObject({
      action: 'reused',
      ref: repoTemplateRef({ cloneUrl, sha, cpuCount: 4, memoryMB: 4096 }),
    })
  })
})

describe('a refresh rejects', () => {
  test('without a repository, and with access refused, before E2B hears of it', async () => {
    await expect(refresh({ getRepositoryAccess: undefined })).rejects.toMatchObject({ code: 'NO_REPOSITORY' })
    head = { status: 'refused', code: 'NOT_FOUND', reason: 'the host answered 404' }
    await expect(refresh()).rejects.toMatchObject({ code: 'ACCESS_REFUSED', message: 'the host answered 404' })
    const cause = new Error('mint')
    await expect(refresh({ getRepositoryAccess: () => Promise.reject(cause) })).rejects.toMatchObject({ cause })
    expect(emulator.control.requests).toEqual([])
  })

  test('when the build fails, and the next one may succeed', async () => {
    emulator.control.failNextBuild({ message: 'command failed: exit status 1', step: '5' })
    await expect(refresh()).rejects.toMatchObject({ code: 'BUILD_STEP_FAILED', step: '5' })
    expect(tags()).not.toHaveProperty('current')
    expect(await refresh()).toMatchObject({ action: 'built' })
  })

  test('when aborted, with the reason', async () => {
    await expect(refresh({}, { signal: AbortSignal.abort(new Error('closing')) })).rejects.toThrow('closing')
  })
})

test('nothing it tells shows a secret, though the platform’s own log does', async () => {
  const buildEnv = { NPM_TOKEN: 'npm-secret-value' }
  const secrets = [...needles, 'npm-secret-value', Buffer.from('npm-secret-value').toString('base64')]
  const events: ResolutionEvent[] = []
  await refresh({ buildEnv }, { onEvent: (event) => events.push(event) })
  const platformLog = JSON.stringify(builds().map(({ logs }) => logs))
  expect(secrets.some((secret) => platformLog.includes(secret))).toBe(true)
  expect(events.some((event) => event.type === 'build-log')).toBe(true)
  emulator.control.failNextBuild({ message: `clone with ${token} failed`, step: '5' })
  const failure = await refresh({ buildEnv }, { force: true, onEvent: (event) => events.push(event) }).catch(
    (error: unknown) => error,
  )
  expect(failure).toMatchObject({ code: 'BUILD_STEP_FAILED' })
  const told = `${JSON.stringify([events, failure])} ${inspect([events, failure], { depth: 20, showHidden: true })}`
  expect(secrets.filter((secret) => told.includes(secret))).toEqual([])
})
