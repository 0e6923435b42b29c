import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { http } from 'msw'
import { Template } from 'e2b'
import { createEmulator, createScriptedRuntime, type Emulator } from '@warmbox/e2b-emulator'
import { emulatorHandlers } from '@warmbox/e2b-emulator/msw'
import { createTemplateApi } from '@warmbox/resolution'
import {
  describeRepoTemplate,
  type Head,
  pruneRepoTemplates,
  type PruneOptions,
  refreshRepoTemplate,
  type RepoTemplateOptions,
  repoTemplateRef,
  warmRepositories,
  type WarmEvent,
} from '@warmbox/repo-template'
import { needles, token } from './support/fixtures.ts'
import { network } from './support/network.ts'

const apiKey = 'e2b_0123abcd'
const connection = { apiKey }
const urlOf = (repository: string): string => `https://git.example.com/acme/${repository}.git`
const shaOf = (commit: number): string => commit.toString(16).padStart(40, '0')
const name = repoTemplateRef({ cloneUrl: urlOf('widgets') }).split(':')[0] ?? ''
const tagOf = (commit: number): string => `sha-${shaOf(commit)}`

let emulator: Emulator
let head: Head
beforeEach(() => {
  head = { status: 'unreachable', reason: 'not set' }
  emulator = createEmulator({ runtime: createScriptedRuntime(), apiKey })
  const running = emulator
  onTestFinished(() => running.close())
  network.use(...emulatorHandlers(emulator))
})

const optionsOf = (options: Partial<RepoTemplateOptions> = {}): RepoTemplateOptions => ({
  getRepositoryAccess: () =>
    Promise.resolve({ cloneUrl: urlOf('widgets'), authorization: { scheme: 'bearer', token } }),
  resolveHead: () => Promise.resolve(head),
  ...options,
})
const refresh = (commit: number, options: Partial<RepoTemplateOptions> = {}, force = false) => {
  head = { status: 'found', sha: shaOf(commit), cloneUrl: urlOf('widgets') }
  return refreshRepoTemplate(optionsOf(options), { ...connection, force })
}
const fail = (commit: number, options: Partial<RepoTemplateOptions> = {}, force = false) => {
  emulator.control.failNextBuild({ message: `[# setup\nsecond line\n${token}: exit status 7`, step: '6' })
  return expect(refresh(commit, { cleanEvery: 1, ...options }, force)).rejects.toMatchObject({
    code: 'BUILD_STEP_FAILED',
  })
}
/** Requests a build and leaves it at that. */
const leaveRunning = (commit: number) =>
  createTemplateApi(connection).requestBuild({
    ref: `${name}:${tagOf(commit)}`,
    template: Template().fromBaseImage(),
    cpuCount: 2,
    memoryMB: 1024,
  })
const tags = (): Readonly<Record<string, string>> =>
  emulator.control.templates().find((template) => template.name.endsWith(name))?.tags ?? {}

const describeIt = (options: Partial<RepoTemplateOptions> = {}) => describeRepoTemplate(optionsOf(options), connection)
const prune = async (options: PruneOptions, template: Partial<RepoTemplateOptions> = {}) => {
  const [result] = await pruneRepoTemplates(optionsOf(template), options, connection)
  if (result?.status !== 'pruned') throw new Error('It was not pruned', { cause: result })
  const reasons = Object.fromEntries(result.decisions.map(({ tag, reason }) => [tag, reason]))
  return { result, reasons }
}
const repositories = (count: number, options: Partial<RepoTemplateOptions> = {}): RepoTemplateOptions[] =>
  Array.from({ length: count }, (_none, index) =>
    optionsOf({
      getRepositoryAccess: () => Promise.resolve({ cloneUrl: urlOf(`r${index}`) }),
      resolveHead: ({ cloneUrl }) => Promise.resolve({ status: 'found', sha: shaOf(1), cloneUrl }),
      ...options,
    }),
  )

describe('a description', () => {
  test('of a template nobody built', async () => {
    expect(await describeIt()).toEqual({
      name,
      current: undefined,
      clean: undefined,
      sinceClean: undefined,
      lastBuild: undefined,
      lastFailure: undefined,
      running: [],
    })
  })

  test('tells what is booted, the last build, the last failure and why, and what runs', async () => {
    await refresh(1)
    await refresh(2)
    await fail(3)
    await leaveRunning(4)
    const before = Date.now()
    const described = await describeIt()
    expect(described).toMatchObject({
      name,
      current: { sha: shaOf(2), state: 'ready', buildId: tags()[tagOf(2)] },
      clean: { sha: shaOf(1), state: 'ready' },
      sinceClean: 3,
      lastBuild: { sha: shaOf(4), state: 'waiting' },
      lastFailure: { sha: shaOf(3), state: 'error', step: '6', reason: '[# setup … ***: exit status 7' },
      running: [{ sha: shaOf(4), state: 'waiting' }],
    })
    const { current } = described
    expect(current?.requestedAt.getTime()).toBeLessThanOrEqual(before)
    expect(current?.ageMs).toBeGreaterThanOrEqual(before - (current?.requestedAt.getTime() ?? 0))
    expect(needles.filter((needle) => JSON.stringify(described).includes(needle))).toEqual([])
  })

  test('of a branch is that of its own line, of a pull request of none', async () => {
    await refresh(1)
    await refresh(2, { branch: 'feature' })
    expect((await describeIt({ branch: 'feature' })).current?.sha).toBe(shaOf(2))
    expect((await describeIt()).current?.sha).toBe(shaOf(1))
    expect(await describeIt({ pull: 7 })).toMatchObject({ current: undefined, lastBuild: { sha: shaOf(2) } })
  })

  test('asks the repository’s host for nothing, and needs access', async () => {
    await describeIt({ resolveHead: () => Promise.reject(new Error('asked')) })
    expect((await describeIt()).name).toBe(name)
    await expect(describeIt({ getRepositoryAccess: undefined })).rejects.toMatchObject({ code: 'NO_REPOSITORY' })
    await expect(describeIt({ getRepositoryAccess: () => Promise.reject(new Error('revoked')) })).rejects.toMatchObject(
      { code: 'ACCESS_REFUSED' },
    )
  })
})

describe('pruning', () => {
  test('is a dry run by default, and says why each tag stays or goes', async () => {
    for (const commit of [1, 2, 3, 4, 5, 6]) await refresh(commit, { cleanEvery: 3 })
    const { result, reasons } = await prune({ keepLast: 1 }, { cleanEvery: 3 })
    expect(reasons).toEqual({
      current: 'moving',
      clean: 'moving',
      [tagOf(6)]: 'pointed-to',
      [tagOf(5)]: 'counted',
      [tagOf(4)]: 'pointed-to',
      [tagOf(3)]: 'superfluous',
      [tagOf(2)]: 'superfluous',
      [tagOf(1)]: 'superfluous',
    })
    expect(result).toMatchObject({ name, dryRun: true, removed: [] })
    expect(result.decisions.every(({ action, reason }) => (action === 'remove') === (reason === 'superfluous'))).toBe(
      true,
    )
    expect(result.decisions.find(({ tag }) => tag === tagOf(6))?.explanation).toContain("'current'")
    expect(Object.keys(tags())).toHaveLength(8)
  })

  test('for good removes those alone, and takes nothing from the count to the next build from nothing', async () => {
    for (const commit of [1, 2, 3, 4, 5, 6]) await refresh(commit, { cleanEvery: 3 })
    const { result } = await prune({ keepLast: 0, dryRun: false }, { cleanEvery: 3 })
    expect(new Set(result.removed)).toEqual(new Set([tagOf(3), tagOf(2), tagOf(1)]))
    expect(new Set(Object.keys(tags()))).toEqual(new Set(['current', 'clean', tagOf(4), tagOf(5), tagOf(6)]))
    expect(await refresh(7, { cleanEvery: 3 })).toMatchObject({ build: 'clean' })
    // A removed commit is built again.
    expect(await refresh(1, { cleanEvery: 3 })).toMatchObject({ action: 'built' })
  })

  test('keeps the newest, and of the others the young ones', async () => {
    for (const commit of [1, 2, 3, 4]) await refresh(commit, { cleanEvery: 1 })
    const one = await prune({ keepLast: 2 }, { cleanEvery: 1 })
    expect(one.reasons).toMatchObject({ [tagOf(3)]: 'newest', [tagOf(2)]: 'superfluous', [tagOf(1)]: 'superfluous' })
    const two = await prune({ keepLast: 2, maxAgeMs: 3_600_000 }, { cleanEvery: 1 })
    expect(two.reasons).toMatchObject({ [tagOf(3)]: 'newest', [tagOf(2)]: 'young', [tagOf(1)]: 'young' })
    const three = await prune({}, { cleanEvery: 1 })
    expect(three.reasons).toMatchObject({ [tagOf(1)]: 'newest' })
  })

  test('keeps what runs, what a tag of somebody else points to, and what hides a build that boots', async () => {
    for (const commit of [1, 2]) await refresh(commit, { cleanEvery: 1 })
    await createTemplateApi(connection).assignTags(`${name}:${tagOf(1)}`, ['default', 'release'])
    await fail(2, {}, true)
    await fail(3)
    await refresh(4, { cleanEvery: 1 })
    await leaveRunning(5)
    const { reasons, result } = await prune({ keepLast: 0, dryRun: false }, { cleanEvery: 1 })
    expect(reasons).toMatchObject({
      default: 'moving',
      release: 'moving',
      [tagOf(1)]: 'pointed-to',
      [tagOf(2)]: 'hides-ready',
      [tagOf(3)]: 'superfluous',
      [tagOf(4)]: 'pointed-to',
      [tagOf(5)]: 'running',
    })
    expect(result.removed).toEqual([tagOf(3)])
    expect(await createTemplateApi(connection).status(`${name}:${tagOf(2)}`)).toBe('ready')
  })

  test('leaves alone what was moved while it decided', async () => {
    for (const commit of [1, 2, 3]) await refresh(commit, { cleanEvery: 1 })
    let listings = 0
    network.use(
      http.get('*/templates/:name/tags', async () => {
        listings += 1
        // Somebody rolls back between the decision and the removal.
        if (listings === 2) await rollBack()
      }),
    )
    const rollBack = async (): Promise<void> => {
      await createTemplateApi(connection).assignTags(`${name}:${tagOf(1)}`, ['current'])
    }
    const { result, reasons } = await prune({ keepLast: 0, dryRun: false }, { cleanEvery: 1 })
    expect(reasons).toMatchObject({ [tagOf(1)]: 'superfluous', [tagOf(2)]: 'superfluous' })
    expect(result.removed).toEqual([tagOf(2)])
  })

  test('of several repositories, and of one that has no template', async () => {
    await refresh(1)
    const other = optionsOf({ getRepositoryAccess: () => Promise.resolve({ cloneUrl: urlOf('other') }) })
    const results = await pruneRepoTemplates([optionsOf(), other], {}, connection)
    expect(results).toMatchObject([{ decisions: [{}, {}, {}] }, { decisions: [] }])
  })

  test('of several repositories, of which one is refused: tells of it, and of what was removed from the others', async () => {
    for (const commit of [1, 2, 3]) await refresh(commit, { cleanEvery: 1 })
    const revoked = new Error('revoked')
    const results = await pruneRepoTemplates(
      [
        optionsOf({ getRepositoryAccess: () => Promise.reject(revoked) }),
        optionsOf({ cleanEvery: 1 }),
        optionsOf({ getRepositoryAccess: () => Promise.reject(revoked) }),
      ],
      { keepLast: 1, dryRun: false },
      connection,
    )
    const failed = { status: 'failed', error: { code: 'ACCESS_REFUSED', cause: revoked } }
    expect(results).toMatchObject([failed, { status: 'pruned', removed: [tagOf(2), tagOf(1)] }, failed])
  })

  test('ends when it is aborted, and tells what was done', async () => {
    for (const commit of [1, 2]) await refresh(commit, { cleanEvery: 1 })
    const controller = new AbortController()
    const aborting = optionsOf({
      getRepositoryAccess: () => {
        controller.abort(new Error('enough'))
        return Promise.resolve({ cloneUrl: urlOf('other') })
      },
    })
    const results = await pruneRepoTemplates(
      [optionsOf({ cleanEvery: 1 }), aborting, optionsOf()],
      { keepLast: 1, dryRun: false },
      { ...connection, signal: controller.signal },
    )
    expect(results).toMatchObject([{ removed: [tagOf(1)] }, { status: 'aborted' }, { status: 'aborted' }])
  })

  test.each<[string, object]>([
    ['keepLast', { keepLast: -1 }],
    ['maxAgeMs', { maxAgeMs: 1.5 }],
    ['dryRun', { dryRun: 'no' }],
    ['dryrun', { dryrun: false }],
  ])('refuses malformed rules before it asks anything: %s', async (field, rules) => {
    await expect(pruneRepoTemplates(optionsOf(), rules, connection)).rejects.toMatchObject({ field })
    expect(emulator.control.requests).toEqual([])
  })
})

describe('warming', () => {
  test('builds each, keeps the order, and one that fails keeps no other', async () => {
    const events: WarmEvent[] = []
    const all = repositories(3)
    all[1] = optionsOf({ resolveHead: () => Promise.resolve({ status: 'refused', code: 'NOT_FOUND', reason: '404' }) })
    const results = await warmRepositories(all, { ...connection, onEvent: (event) => events.push(event) })
    expect(results).toMatchObject([
      {
        status: 'warm',
        action: 'built',
        build: 'clean',
        ref: repoTemplateRef({ cloneUrl: urlOf('r0'), sha: shaOf(1) }),
      },
      { status: 'failed', error: { code: 'ACCESS_REFUSED' } },
      { status: 'warm', action: 'built', ref: repoTemplateRef({ cloneUrl: urlOf('r2'), sha: shaOf(1) }) },
    ])
    const ends = events.filter((event) => event.type === 'warm-end')
    expect(ends.map(({ ended, total }) => [ended, total])).toEqual([
      [1, 3],
      [2, 3],
      [3, 3],
    ])
    expect(ends.find(({ index }) => index === 1)).toMatchObject({ outcome: 'failed', code: 'ACCESS_REFUSED' })
    expect(events.filter(({ type }) => type === 'warm-start')).toHaveLength(3)
    expect(events.some((event) => event.type === 'warm-step' && event.event.type === 'build-start')).toBe(true)
    expect(await warmRepositories(all, connection)).toMatchObject([{ action: 'reused' }, {}, { action: 'reused' }])
  })

  test('works on so many at a time', async () => {
    let running = 0
    let most = 0
    const all = repositories(6, {
      resolveHead: async ({ cloneUrl }) => {
        running += 1
        most = Math.max(most, running)
        await new Promise((resolve) => setImmediate(resolve))
        running -= 1
        return { status: 'found', sha: shaOf(1), cloneUrl }
      },
    })
    await warmRepositories(all, { ...connection, concurrency: 2 })
    expect(most).toBe(2)
  })

  test('ends when it is aborted, and tells what was done', async () => {
    const controller = new AbortController()
    const results = await warmRepositories(repositories(4), {
      ...connection,
      concurrency: 1,
      signal: controller.signal,
      onEvent: (event) => {
        if (event.type === 'warm-start' && event.index === 1) controller.abort(new Error('enough'))
      },
    })
    expect(results.map(({ status }) => status)).toEqual(['warm', 'aborted', 'aborted', 'aborted'])
  })

  test('refuses malformed options of any of them before it asks anything', async () => {
    const all = [...repositories(1), optionsOf({ cpuCount: 3 })]
    await expect(warmRepositories(all, connection)).rejects.toMatchObject({ field: 'cpuCount' })
    const without = [...repositories(1), optionsOf({ getRepositoryAccess: undefined })]
    await expect(warmRepositories(without, connection)).rejects.toMatchObject({ code: 'NO_REPOSITORY' })
    await expect(warmRepositories(repositories(1), { ...connection, concurrency: 0 })).rejects.toMatchObject({
      field: 'concurrency',
    })
    expect(emulator.control.requests).toEqual([])
  })
})
