import { ensureTemplate, type NamedTemplateSpec, settleBackgroundBuilds } from '@warmbox/resolution'
import type { TemplateBuilder } from 'e2b'
import { describe, expect, test } from 'vitest'
import { setBounded } from '../src/bounded-map.ts'
import { failing, problem } from './support/fake-platform.ts'
import { named, REF, rejection, STALE, trace, World } from './support/world.ts'

const MINUTE_MS = 60_000

/** The state of this process as it was before anything happened in it: another replica of the same host. */
const isState = (key: symbol): boolean => Symbol.keyFor(key)?.startsWith('warmbox.resolution.state.') ?? false

function forgetEverything(): void {
  const state = Object.getOwnPropertySymbols(globalThis).find(isState)
  if (state === undefined) throw new Error('The process has no state')
  const present: unknown = Reflect.get(globalThis, state)
  for (const value of Object.values(present ?? {})) if (value instanceof Map) value.clear()
}

const start = (world: World, changes: Partial<NamedTemplateSpec> = {}) => world.start(named(changes))

describe('a failed build', () => {
  test('in a step of the template keeps every replica from building the ref again', async () => {
    const world = new World()
    world.api.scripts.push({ end: { message: 'exit 1', step: '3' } })
    expect((await start(world)).rung).toBe('default')
    const requested = world.api.count('requestBuild')
    for (let replica = 0; replica < 20; replica += 1) {
      forgetEverything()
      // oxlint-disable-next-line no-await-in-loop -- replicas that share a process must not share its memory
      const { attempts } = await start(world)
      expect(attempts).toContainEqual(expect.objectContaining({ outcome: 'skipped', code: 'BUILD_BACKOFF' }))
      expect(attempts.find(({ code }) => code === 'BUILD_BACKOFF')?.reason).toContain('exit 1')
    }
    expect(world.api.count('requestBuild')).toBe(requested)
  })

  test('in a phase of the platform’s own keeps others away for a minute, not longer', async () => {
    const world = new World()
    world.api.seed(REF, 'error', { end: { message: 'no image', step: 'base' } })
    expect((await start(world)).rung).toBe('default')
    world.clock.advance(MINUTE_MS)
    expect((await start(world)).rung).toBe('built')
  })

  test('that names no place may have been cancelled by a rival: it keeps nobody away', async () => {
    const world = new World()
    world.api.seed(REF, 'error', { end: { message: 'build was cancelled' } })
    expect((await start(world)).rung).toBe('built')
  })

  test('is forgotten once somebody else builds the ref: theirs is joined', async () => {
    const world = new World()
    world.api.scripts.push({ end: { message: 'exit 1', step: '3' } })
    await start(world)
    world.api.seed(REF, 'building')
    expect((await start(world)).rung).toBe('joined')
  })

  test('in the background is built again by a later session of this process, after the backoff', async () => {
    const world = new World()
    world.api.seed(STALE, 'ready')
    const down = failing('requestBuild', () => problem('PLATFORM'))
    world.api.fault = down
    expect((await start(world, { staleRef: STALE })).rung).toBe('stale')
    await settleBackgroundBuilds()
    world.api.fault = () => undefined
    await start(world, { staleRef: STALE })
    await settleBackgroundBuilds()
    expect(world.eventsOf('warning').map(({ code }) => code)).toEqual(['PLATFORM', 'BUILD_BACKOFF'])
    expect(world.api.buildOf(REF)).toBeUndefined()
    world.clock.advance(MINUTE_MS)
    expect((await start(world, { staleRef: STALE })).rung).toBe('stale')
    await settleBackgroundBuilds()
    expect((await start(world, { staleRef: STALE })).rung).toBe('exact')
  })

  test.each([
    ['a builder', () => named().template],
    ['a function that returns one', () => (base: TemplateBuilder) => base.runCmd('true')],
  ])('in a step of %s is built again by ensureTemplate, under the name sessions give it', async (_what, specOf) => {
    const world = new World()
    world.api.scripts.push({ end: { message: 'exit 1', step: '3' } })
    const spec = specOf()
    const [attempt] = (await world.start(spec)).attempts
    expect(trace((await world.start(spec)).attempts)).toContain('built skipped')
    const { api, clock } = world
    expect(await ensureTemplate(spec, { api, clock })).toMatchObject({ ref: attempt?.ref, action: 'built' })
    expect((await world.start(spec)).rung).toBe('exact')
  })

  test('again and again is left alone for longer each time', async () => {
    const world = new World()
    const down = failing('requestBuild', () => problem('PLATFORM'))
    const triesAfter = async (delayMs: number): Promise<boolean> => {
      world.clock.advance(delayMs)
      const before = world.api.calls.filter(({ method, ref }) => method === 'requestBuild' && ref === REF).length
      await rejection(start(world))
      return world.api.calls.filter(({ method, ref }) => method === 'requestBuild' && ref === REF).length > before
    }
    world.api.fault = down
    expect(await triesAfter(0)).toBe(true)
    expect(await triesAfter(MINUTE_MS)).toBe(true)
    expect(await triesAfter(MINUTE_MS)).toBe(false)
    expect(await triesAfter(MINUTE_MS)).toBe(true)
  })

  test('makes room for newer ones when there are many', () => {
    const memory = new Map<string, number>()
    for (const [index, key] of ['a', 'b', 'a', 'c', 'd'].entries()) setBounded(memory, key, index, 3)
    expect([...memory.entries()]).toEqual([
      ['a', 2],
      ['c', 3],
      ['d', 4],
    ])
  })
})

describe('somebody else', () => {
  test('requests the same ref between our request and our start: ours is not started, theirs is joined', async () => {
    const world = new World()
    let isTheirs = false
    world.api.fault = ({ method }) => {
      if (method !== 'tags' || world.api.count('requestBuild') === 0 || isTheirs) return
      isTheirs = true
      world.api.seed(REF, 'building')
    }
    expect((await start(world)).rung).toBe('joined')
    expect(world.api.count('startBuild')).toBe(0)
    expect(world.eventsOf('build-joined')).toMatchObject([{ ref: REF, foundBy: 'race', buildId: 'build-2' }])
  })

  test('goes on requesting it: comes to an end', async () => {
    const world = new World()
    world.api.fault = ({ method }) => {
      if (method !== 'tags' || world.api.builds.at(-1)?.state !== 'waiting') return
      world.api.seed(REF, 'error', { end: { message: 'build was cancelled' } })
    }
    const { attempts } = await start(world)
    expect(attempts).toContainEqual(expect.objectContaining({ rung: 'built', outcome: 'failed', code: 'CONFLICT' }))
    expect(world.api.calls.filter(({ method, ref }) => method === 'requestBuild' && ref === REF)).toHaveLength(3)
  })

  test('registers a new name a moment before us: the refusal is a lost race, and the ref is built', async () => {
    const world = new World()
    world.api.fault = failing(
      'requestBuild',
      () => {
        world.api.seed('mastra-repo-abc:sha-other', 'building')
        return problem('FORBIDDEN')
      },
      1,
    )
    expect((await start(world)).rung).toBe('built')
  })
})

/** Whether each build of these refs leaves out the cache. */
async function skips(world: World, refs: readonly string[]): Promise<readonly (boolean | undefined)[]> {
  for (const ref of refs) {
    // oxlint-disable-next-line no-await-in-loop -- builds follow each other
    await ensureTemplate(named({ ref }), world.options).catch(() => undefined)
  }
  return world.api.builds.map(({ request }) => request?.skipCache)
}

describe('a step that fails the same way', () => {
  const CACHED = '[builder 2/3] CACHED RUN npm ci'
  const broken = (message: string) => ({ end: { message, step: '3' }, logs: [CACHED] })

  const REFS = ['1', '2', '3', '4'].map((digit) => `a:sha-${digit.repeat(40)}`)

  test('twice after cache hits is built without the cache, once', async () => {
    const world = new World()
    for (const ref of REFS) world.api.scripts.push(broken(`npm ci of ${ref.slice(6)} exited with 1`))
    expect(await skips(world, REFS)).toEqual([undefined, undefined, true, undefined])
  })

  test('but with nothing from the cache, or another way, is not', async () => {
    const uncached = new World()
    for (const _ of REFS) uncached.api.scripts.push({ ...broken('exit 1'), logs: [] })
    expect(await skips(uncached, REFS)).toEqual(REFS.map(() => undefined))
    const other = new World()
    for (const ref of REFS) other.api.scripts.push(broken(`exit ${Number(ref.slice(-1)) * 11}`))
    expect(await skips(other, REFS)).toEqual(REFS.map(() => undefined))
  })

  test('and then works is trusted again', async () => {
    const world = new World()
    world.api.scripts.push(broken('exit 1'), {}, broken('exit 1'), broken('exit 1'))
    expect(await skips(world, REFS)).toEqual(REFS.map(() => undefined))
  })
})

test('an aborted start that has registered a build starts it, and is done with it soon', async () => {
  const world = new World()
  const controller = new AbortController()
  world.api.fault = ({ method }) => {
    if (method === 'requestBuild') controller.abort(new Error('enough'))
  }
  await rejection(world.start(named(), { signal: controller.signal }))
  await settleBackgroundBuilds()
  expect(world.api.builds.map(({ ref, state: built }) => [ref, built])).toEqual([[REF, 'building']])
  expect(world.clock.sleeping).toBe(0)
  world.api.fault = () => undefined
  expect(trace((await start(world)).attempts)).toContain('joined booted')
})
