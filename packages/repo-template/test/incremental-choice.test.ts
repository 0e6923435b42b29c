import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { createEmulator, createScriptedRuntime, type Emulator } from '@warmbox/e2b-emulator'
import { emulatorHandlers } from '@warmbox/e2b-emulator/msw'
import { bootFromSpec, createTemplateApi, type ResolutionEvent, settleBackgroundBuilds } from '@warmbox/resolution'
import {
  createRepoTemplate,
  type Head,
  refreshRepoTemplate,
  type RepoTemplateOptions,
  repoTemplateRef,
} from '@warmbox/repo-template'
import { needles, token } from './support/fixtures.ts'
import { network } from './support/network.ts'

/** Which build a moved head goes on from. The platform is real, its machines only pretend. */
const cloneUrl = 'https://git.example.com/acme/widgets.git'
const apiKey = 'e2b_0123abcd'
const shaOf = (commit: number): string => commit.toString(16).padStart(40, '0')

let emulator: Emulator
let head: Head
let events: ResolutionEvent[]
beforeEach(() => {
  events = []
  emulator = createEmulator({ runtime: createScriptedRuntime(), apiKey })
  const running = emulator
  onTestFinished(() => running.close())
  network.use(...emulatorHandlers(emulator))
})

const optionsOf = (options: Partial<RepoTemplateOptions>): RepoTemplateOptions => ({
  getRepositoryAccess: () => Promise.resolve({ cloneUrl, authorization: { scheme: 'bearer', token } }),
  resolveHead: () => Promise.resolve(head),
  ...options,
})
const refresh = (commit: number, options: Partial<RepoTemplateOptions> = {}, force = false) => {
  head = { status: 'found', sha: shaOf(commit), cloneUrl }
  return refreshRepoTemplate(optionsOf(options), { apiKey, force, onEvent: (event) => events.push(event) })
}
const name = repoTemplateRef({ cloneUrl }).split(':')[0] ?? ''
const tags = (): Readonly<Record<string, string>> =>
  emulator.control.templates().find((template) => template.name.endsWith(name))?.tags ?? {}
const buildOf = (commit: number): string => tags()[`sha-${shaOf(commit)}`] ?? 'none'
const tagOf = ({ ref }: { readonly ref: string }): string => ref.split(':')[1] ?? ''

test('the first build is from nothing, the next ones each on the one before, the last in the row from nothing again', async () => {
  const builds: unknown[] = []
  for (const commit of [1, 2, 3, 4, 5]) builds.push((await refresh(commit, { cleanEvery: 3 })).build)
  expect(builds).toEqual(['clean', 'incremental', 'incremental', 'clean', 'incremental'])
  expect(tags()).toMatchObject({ current: buildOf(5), clean: buildOf(4) })
  expect(events.flatMap((event) => (event.type === 'build-start' ? [event.parent] : []))).toEqual([
    undefined,
    `${name}:${buildOf(1)}`,
    `${name}:${buildOf(2)}`,
    undefined,
    `${name}:${buildOf(4)}`,
  ])
})

test('by default it is every tenth', async () => {
  const builds: unknown[] = []
  for (let commit = 1; commit <= 11; commit += 1) builds.push((await refresh(commit)).build)
  expect(builds.flatMap((build, index) => (build === 'clean' ? [index + 1] : []))).toEqual([1, 11])
})

test('with 1 it is every one', async () => {
  await refresh(1, { cleanEvery: 1 })
  expect(await refresh(2, { cleanEvery: 1 })).toMatchObject({ build: 'clean' })
})

test('anything but a number of builds is refused', () => {
  for (const cleanEvery of [0, -1, 1.5, Number.NaN]) {
    expect(() => createRepoTemplate(optionsOf({ cleanEvery }))).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', field: 'cleanEvery' }),
    )
  }
})

test('where nobody can tell when the last build from nothing was, the next is one', async () => {
  await refresh(1)
  await createTemplateApi({ apiKey }).removeTags(name, ['clean'])
  expect(await refresh(2)).toMatchObject({ build: 'clean' })
})

test('where the build on the earlier one fails, it is built from nothing', async () => {
  await refresh(1)
  emulator.control.failNextBuild({ message: 'exit status 1', step: '2' })
  expect(await refresh(2)).toMatchObject({ build: 'clean' })
  expect(tags()).toMatchObject({ current: buildOf(2), clean: buildOf(2) })
})

test('a branch has a row of its own', async () => {
  await refresh(1)
  const first = await refresh(2, { branch: 'feature' })
  expect(first).toMatchObject({ build: 'clean' })
  expect(await refresh(3, { branch: 'feature' })).toMatchObject({ parent: `${name}:${tags()[tagOf(first)]}` })
  expect(await refresh(4)).toMatchObject({ parent: `${name}:${buildOf(1)}` })
  const branchTags = Object.keys(tags()).filter((tag) => /^(?:current|clean)-/.test(tag))
  expect(new Set(branchTags.map((tag) => tag.split('-')[0]))).toEqual(new Set(['clean', 'current']))
  const [hash] = new Set(branchTags.map((tag) => tag.split('-')[1]))
  expect(tagOf(first)).toBe(`sha-${shaOf(2)}-${hash}`)
})

test('commits of another line do not count', async () => {
  await refresh(1, { cleanEvery: 3 })
  for (const commit of [2, 3, 4]) await refresh(commit, { branch: 'feature', cleanEvery: 3 })
  expect(await refresh(5, { cleanEvery: 3 })).toMatchObject({ parent: `${name}:${buildOf(1)}` })
})

test.each([{ branch: 'feature' }, { tag: 'v1' }, { pull: 7 }, { mergeRequest: 9 }])(
  'at one commit the default branch and %j have a build each, whoever comes first',
  async (selection) => {
    await refresh(1)
    const theirs = await refresh(2, selection)
    const ours = await refresh(2)
    expect(ours).toMatchObject({
      action: 'built',
      parent: `${name}:${buildOf(1)}`,
      ref: repoTemplateRef({ cloneUrl, sha: shaOf(2) }),
    })
    expect(tags()[tagOf(theirs)]).not.toBe(tags()['current'])
    expect(tags()['current']).toBe(buildOf(2))
    expect(await refresh(3)).toMatchObject({ parent: `${name}:${buildOf(2)}` })
    const given = await refresh(2, { ...selection, sha: shaOf(2) })
    expect(given).toMatchObject({ action: 'reused', ref: theirs.ref })
    const fourth = await refresh(4, selection)
    expect(fourth.ref).not.toBe(repoTemplateRef({ cloneUrl, sha: shaOf(4) }))
  },
)

test('lines of different kinds share nothing, whatever they are called', async () => {
  const refs = [
    { branch: 'refs/pull/7/head' },
    { branch: '7' },
    { tag: '7' },
    { branch: 'refs/tags/7' },
    { pull: 7 },
    { mergeRequest: 7 },
  ]
  const made: string[] = []
  for (const selection of refs) made.push((await refresh(2, selection)).ref)
  expect(new Set(made).size).toBe(refs.length)
})

test('a commit that is given is built from nothing', async () => {
  await refresh(1)
  expect(await refresh(2, { sha: shaOf(2) })).toMatchObject({
    build: 'clean',
    ref: repoTemplateRef({ cloneUrl, sha: shaOf(2) }),
  })
})

test.each([{ tag: 'v1' }, { pull: 7 }, { mergeRequest: 9 }, { sha: shaOf(2) }])(
  'what has no row is built from nothing, and nothing is built on it: %j',
  async (selection) => {
    await refresh(1)
    expect(await refresh(2, selection)).toMatchObject({ build: 'clean' })
    expect(await refresh(3)).toMatchObject({ build: 'incremental', parent: `${name}:${buildOf(1)}` })
    expect(tags()).toMatchObject({ current: buildOf(3), clean: buildOf(1) })
  },
)

test('another image has another name, and with it no earlier build', async () => {
  await refresh(1)
  expect(await refresh(2, { setupCommand: 'true' })).toMatchObject({ build: 'clean' })
})

test('a session that boots the earlier build leaves one that goes on from it', async () => {
  await refresh(1)
  head = { status: 'found', sha: shaOf(2), cloneUrl }
  const { rung } = await bootFromSpec(createRepoTemplate(optionsOf({})), {
    api: createTemplateApi({ apiKey }),
    boot: (ref) => (ref.endsWith(':current') ? Promise.resolve(ref) : Promise.reject(new Error(ref))),
    onEvent: (event) => events.push(event),
  })
  await settleBackgroundBuilds()
  expect(rung).toBe('stale')
  expect(events.at(-1)).toMatchObject({ type: 'advance', outcome: 'moved', tags: ['current'] })
  expect(events.filter(({ type }) => type === 'build-start').at(-1)).toMatchObject({
    parent: `${name}:${buildOf(1)}`,
    background: true,
  })
})

test('the credential is in one step, blanked after it, and what is told shows no secret', async () => {
  await refresh(1, { buildEnv: { NPM_TOKEN: 'npm-secret-value' } })
  const bodies: string[] = []
  network.events.on('request:start', ({ request }) => {
    if (!request.url.includes('/v2/templates/')) return
    void request
      .clone()
      .text()
      .then((body: string) => bodies.push(body))
  })
  const result = await refresh(2, { buildEnv: { NPM_TOKEN: 'npm-secret-value' }, setupCommand: [] })
  expect(result.build).toBe('incremental')
  const { fromTemplate, steps }: { fromTemplate: string; steps: { type: string; args: string[] }[] } = JSON.parse(
    bodies.at(-1) ?? '{}',
  )
  expect(fromTemplate).toBe(result.parent)
  expect(steps.map(({ type }) => type)).toEqual(['RUN', 'ENV', 'RUN', 'ENV', 'RUN', 'ENV'])
  const holding = steps.filter(({ args }) => needles.some((needle) => args.join(' ').includes(needle)))
  expect(holding).toEqual([steps[1]])
  expect(steps[3]?.args).toEqual(['WARMBOX_GIT_CREDENTIAL', ''])
  expect(steps[5]?.args).toEqual(['WARMBOX_ENV_NPM_TOKEN', ''])
  const told = JSON.stringify([result, events])
  expect([...needles, 'npm-secret-value'].filter((secret) => told.includes(secret))).toEqual([])
})
