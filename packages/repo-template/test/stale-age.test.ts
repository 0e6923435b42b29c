import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { createEmulator, createScriptedRuntime, type Emulator } from '@warmbox/e2b-emulator'
import { emulatorHandlers } from '@warmbox/e2b-emulator/msw'
import {
  bootFromSpec,
  createTemplateApi,
  planTemplate,
  type ResolutionEvent,
  ResolutionError,
  settleBackgroundBuilds,
} from '@warmbox/resolution'
import { createRepoTemplate, type Head, refreshRepoTemplate, type RepoTemplateOptions } from '@warmbox/repo-template'
import { network } from './support/network.ts'

const cloneUrl = 'https://git.example.com/acme/widgets.git'
const apiKey = 'e2b_0123abcd'
const hour = 3_600_000

let emulator: Emulator
let head: Head
beforeEach(() => {
  head = { status: 'found', sha: 'a'.repeat(40), cloneUrl }
  emulator = createEmulator({ runtime: createScriptedRuntime(), apiKey })
  const running = emulator
  onTestFinished(() => running.close())
  network.use(...emulatorHandlers(emulator))
})

const optionsOf = (options: Partial<RepoTemplateOptions>): RepoTemplateOptions => ({
  getRepositoryAccess: () => Promise.resolve({ cloneUrl }),
  resolveHead: () => Promise.resolve(head),
  ...options,
})

/** A session whose head moved after the last build. */
const start = async (options: Partial<RepoTemplateOptions>) => {
  await refreshRepoTemplate(optionsOf({}), { apiKey })
  head = { status: 'found', sha: 'b'.repeat(40), cloneUrl }
  const before = emulator.control.requests.length
  const events: ResolutionEvent[] = []
  const { rung } = await bootFromSpec(createRepoTemplate(optionsOf(options)), {
    api: createTemplateApi({ apiKey }),
    boot: (ref) =>
      ref.endsWith('a'.repeat(40)) || emulator.control.templates().length === 0
        ? Promise.reject(new ResolutionError({ code: 'TEMPLATE_UNUSABLE', message: ref }))
        : Promise.resolve(ref),
    onEvent: (event) => events.push(event),
  })
  const listings = emulator.control.requests.slice(before).filter(({ path }) => path.endsWith('/tags'))
  await settleBackgroundBuilds()
  return { rung, listings: listings.length, warnings: events.filter(({ type }) => type === 'warning') }
}

test('an earlier build of any age is booted where none is given', async () => {
  expect(await start({})).toMatchObject({ rung: 'stale', warnings: [] })
})

test('a young one is booted, and its age costs no request', async () => {
  expect(await start({ maxStaleMs: hour })).toMatchObject({ rung: 'stale', warnings: [], listings: 1 })
})

test('one that is too old is not: the session waits for the build of the head, and is told why', async () => {
  // On a real clock any build is older than none.
  expect(await start({ maxStaleMs: 0 })).toMatchObject({
    rung: 'built',
    warnings: [{ code: 'STALE_TOO_OLD', message: expect.stringContaining('older than 0 ms') }],
  })
})

test('where the head is built already, nothing is waited for or told', async () => {
  await refreshRepoTemplate(optionsOf({}), { apiKey })
  const events: ResolutionEvent[] = []
  const { rung } = await bootFromSpec(createRepoTemplate(optionsOf({ maxStaleMs: 0 })), {
    api: createTemplateApi({ apiKey }),
    boot: (ref) => Promise.resolve(ref),
    onEvent: (event) => events.push(event),
  })
  expect(rung).toBe('exact')
  expect(events.filter(({ type }) => type === 'warning')).toEqual([])
})

test('an unreachable head has nothing to wait for', async () => {
  await refreshRepoTemplate(optionsOf({}), { apiKey })
  head = { status: 'unreachable', reason: 'offline' }
  const { ref } = await bootFromSpec(createRepoTemplate(optionsOf({ maxStaleMs: 0 })), {
    api: createTemplateApi({ apiKey }),
    boot: (wanted) => Promise.resolve(wanted),
  })
  expect(ref).toMatch(/:current$/)
})

test('a plan says the same', async () => {
  await refreshRepoTemplate(optionsOf({}), { apiKey })
  head = { status: 'found', sha: 'b'.repeat(40), cloneUrl }
  const plan = (maxStaleMs: number) => planTemplate(createRepoTemplate(optionsOf({ maxStaleMs })), { apiKey })
  expect(await plan(hour)).toMatchObject({ wouldBootStale: true })
  expect(await plan(0)).toMatchObject({ wouldBootStale: false, rung: 'built' })
})

test('where the age cannot be read, the earlier build is booted', async () => {
  await refreshRepoTemplate(optionsOf({}), { apiKey })
  const spec = createRepoTemplate(optionsOf({ maxStaleMs: 0 }))
  const busy = new ResolutionError({ code: 'PLATFORM', message: 'busy' })
  expect(await spec?.resolveSpec({ listTags: () => Promise.reject(busy) })).toMatchObject({
    staleRef: expect.stringMatching(/:current$/),
  })
  expect(await spec?.resolveSpec({ listTags: async () => undefined })).toHaveProperty('staleRef')
  expect(await spec?.resolveSpec()).toHaveProperty('staleRef')
  const controller = new AbortController()
  const aborting = spec?.resolveSpec({
    signal: controller.signal,
    listTags: () => {
      controller.abort(new Error('closing'))
      return new Promise(() => undefined)
    },
  })
  await expect(aborting).rejects.toThrow('closing')
})

test('anything but milliseconds is refused', () => {
  for (const maxStaleMs of [-1, 0.5, Number.NaN]) {
    expect(() => createRepoTemplate(optionsOf({ maxStaleMs }))).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', field: 'maxStaleMs' }),
    )
  }
})
