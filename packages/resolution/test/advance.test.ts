import {
  ensureTemplate,
  type EnsureTemplateResult,
  type NamedTemplateSpec,
  settleBackgroundBuilds,
} from '@warmbox/resolution'
import { describe, expect, test } from 'vitest'
import { failing, problem } from './support/fake-platform.ts'
import { named, REF, rejection, STALE, World } from './support/world.ts'

const NEWER = 'mastra-repo-abc:sha-2'
const isCurrent = async (): Promise<boolean> => true
const isUnreachable = (): Promise<boolean> => Promise.reject(new Error('head unreachable'))
const hangs = (): Promise<boolean> => new Promise(() => undefined)
const isOld = async (): Promise<boolean> => false

describe('after a build', () => {
  test('the build carries its own tag alone, its other tags move once it is ready', async () => {
    const world = new World()
    const statesAtAdvance: unknown[] = []
    world.api.fault = ({ method }) => {
      if (method === 'assignTags') statesAtAdvance.push(world.api.buildOf(REF)?.state)
    }
    await world.start(named({ buildTags: ['Current', 'latest'] }))
    await settleBackgroundBuilds()
    expect(world.api.builds.map(({ ref }) => ref)).toEqual([REF])
    expect(statesAtAdvance).toEqual(['ready'])
    expect(world.eventsOf('advance')).toEqual([
      { type: 'advance', ref: REF, tags: ['current', 'latest'], outcome: 'moved' },
    ])
    expect(world.api.buildOf(STALE)?.id).toBe(world.api.buildOf(REF)?.id)
  })

  test('that failed, no tag moves', async () => {
    const world = new World()
    world.api.scripts.push({ end: { message: 'no', step: '2' } })
    await world.start(named({ buildTags: ['current'] }))
    expect(world.api.count('assignTags')).toBe(0)
  })

  test('of content that is no longer current, no tag moves back', async () => {
    const world = new World()
    const newer = world.api.seed(NEWER, 'ready')
    await world.api.assignTags(NEWER, ['current'])
    await world.start(named({ buildTags: ['current'], isCurrent: isOld }))
    expect(world.api.buildOf(STALE)?.id).toBe(newer.id)
    expect(world.eventsOf('advance')).toMatchObject([{ outcome: 'superseded' }])
  })

  test('whose currency cannot be told, no tag moves and the session starts', async () => {
    const world = new World()
    const result = await world.start(named({ buildTags: ['current'], isCurrent: isUnreachable }))
    expect(result.rung).toBe('built')
    await settleBackgroundBuilds()
    expect(world.eventsOf('advance')).toMatchObject([
      { outcome: 'failed', reason: expect.stringContaining('head unreachable') },
    ])
    expect(world.api.count('assignTags')).toBe(0)
  })

  test('the session starts at once, whatever keeps its tags; the host is told to stay alive for them', async () => {
    const world = new World()
    const kept: Promise<unknown>[] = []
    const before = world.clock.now()
    const spec = named({ buildTags: ['current'], isCurrent: hangs })
    const result = await world.start(spec, { waitUntil: (work) => void kept.push(work), buildTimeoutMs: 50_000 })
    expect(result).toMatchObject({ rung: 'built', ref: REF })
    expect(world.clock.now() - before).toBeLessThan(10_000)
    expect(world.eventsOf('advance')).toEqual([])
    await Promise.all(kept)
    expect(world.eventsOf('advance')).toMatchObject([
      { outcome: 'failed', reason: expect.stringContaining('60000 ms') },
    ])
    expect(kept).toHaveLength(1)
    expect(world.clock.sleeping).toBe(0)
    // The lease is free again.
    expect(await ensure(world, { buildTags: ['current'], isCurrent }, true)).toMatchObject({ action: 'built' })
    expect(world.api.buildOf(STALE)).toBeDefined()
  })

  test('somebody else made and tagged, no tag is moved again', async () => {
    const world = new World()
    const theirs = world.api.seed(REF, 'building')
    let tagging: Promise<void> | undefined
    world.api.fault = ({ method }) => {
      // Whoever built it is faster.
      if (method === 'tags' && theirs.state === 'ready') tagging ??= world.api.assignTags(REF, ['current'])
    }
    expect((await world.start(named({ buildTags: ['current'], isCurrent }))).rung).toBe('joined')
    await tagging
    await settleBackgroundBuilds()
    expect(world.api.count('assignTags')).toBe(1)
  })

  test('somebody else made, the tags move too', async () => {
    const world = new World()
    world.api.seed(REF, 'building')
    await world.start(named({ buildTags: ['current'] }))
    await settleBackgroundBuilds()
    expect(world.api.buildOf(STALE)?.id).toBe(world.api.buildOf(REF)?.id)
  })
})

describe('a later session that finds the ref ready', () => {
  test('moves a tag the building process left behind', async () => {
    const world = new World()
    world.api.seed(STALE, 'ready')
    world.clock.advance(1_000)
    const exact = world.api.seed(REF, 'ready')
    await world.start(named({ buildTags: ['current'], isCurrent }))
    await settleBackgroundBuilds()
    expect(world.api.buildOf(STALE)?.id).toBe(exact.id)
  })

  test('leaves a tag alone that was moved after the ref was requested', async () => {
    const world = new World()
    world.api.seed(REF, 'ready')
    world.clock.advance(1_000)
    const chosen = world.api.seed(STALE, 'ready')
    await world.start(named({ buildTags: ['current'], isCurrent }))
    await settleBackgroundBuilds()
    expect(world.api.buildOf(STALE)?.id).toBe(chosen.id)
  })

  test('moves nothing when the ref is not the current one', async () => {
    const world = new World()
    world.api.seed(REF, 'ready')
    await world.start(named({ buildTags: ['current'], isCurrent: isOld }))
    await settleBackgroundBuilds()
    expect(world.api.count('assignTags')).toBe(0)
  })

  test('moves no tag where nobody can tell what is current', async () => {
    const world = new World()
    world.api.seed(REF, 'ready')
    await world.start(named({ buildTags: ['current'] }))
    await settleBackgroundBuilds()
    expect(world.api.calls).toHaveLength(1)
  })

  test('leaves a tag alone that was moved back to an older build on purpose', async () => {
    const world = new World()
    const old = world.api.seed('mastra-repo-abc:sha-0', 'ready')
    world.clock.advance(1_000)
    world.api.seed(REF, 'ready')
    await world.api.assignTags(REF, ['current'])
    world.clock.advance(1_000)
    await world.api.assignTags('mastra-repo-abc:sha-0', ['current'])
    await world.start(named({ buildTags: ['current'], isCurrent }))
    await settleBackgroundBuilds()
    expect(world.api.buildOf(STALE)?.id).toBe(old.id)
    expect(await ensure(world, { buildTags: ['current'], isCurrent })).toMatchObject({ action: 'reused' })
    expect(world.api.buildOf(STALE)?.id).toBe(old.id)
  })

  test('follows a head that went back to it from a newer build', async () => {
    const world = new World()
    const exact = world.api.seed(REF, 'ready')
    world.clock.advance(1_000)
    world.api.seed(NEWER, 'ready')
    world.clock.advance(1_000)
    await world.api.assignTags(NEWER, ['current'])
    await world.start(named({ buildTags: ['current'], isCurrent }))
    await settleBackgroundBuilds()
    expect(world.api.buildOf(STALE)?.id).toBe(exact.id)
  })
})

function ensure(world: World, changes: Partial<NamedTemplateSpec> = {}, force = false): Promise<EnsureTemplateResult> {
  const { api, clock, onEvent, random } = world.options
  return ensureTemplate(named(changes), { api, clock, onEvent, random, force })
}

describe('ensureTemplate', () => {
  test('builds what is missing and moves the tags before it answers', async () => {
    const world = new World()
    expect(await ensure(world, { buildTags: ['current'] })).toEqual({ ref: REF, action: 'built', build: 'clean' })
    expect(world.api.buildOf(STALE)?.id).toBe(world.api.buildOf(REF)?.id)
  })

  test('reuses what is ready and catches up on its tags', async () => {
    const world = new World()
    const exact = world.api.seed(REF, 'ready')
    expect(await ensure(world, { buildTags: ['current'], isCurrent })).toEqual({ ref: REF, action: 'reused' })
    expect(world.api.buildOf(STALE)?.id).toBe(exact.id)
    expect(world.api.count('requestBuild')).toBe(0)
  })

  test('boots and builds nothing lower: neither an earlier build nor a fallback', async () => {
    const world = new World()
    world.api.seed(STALE, 'ready')
    world.api.scripts.push({ end: { message: 'exit 1', step: '3' } })
    const error = await rejection(ensure(world, { staleRef: STALE, fallbackTemplate: 'other' }))
    expect(error).toMatchObject({ code: 'BUILD_STEP_FAILED', step: '3' })
    expect(world.api.builds).toHaveLength(2)
  })

  test('reports somebody else’s build as built', async () => {
    const world = new World()
    world.api.seed(REF, 'building')
    expect(await ensure(world)).toEqual({ ref: REF, action: 'built' })
    expect(world.api.count('requestBuild')).toBe(0)
  })

  test('builds again when forced, although a build is ready', async () => {
    const world = new World()
    world.api.seed(REF, 'ready')
    expect(await ensure(world, {}, true)).toEqual({ ref: REF, action: 'built', build: 'clean' })
    expect(world.api.count('requestBuild')).toBe(1)
  })

  test('is the way past a remembered failure, and clears it', async () => {
    const world = new World()
    world.api.scripts.push({ end: { message: 'exit 1', step: '3' } })
    await world.start(named())
    expect(await ensure(world)).toEqual({ ref: REF, action: 'built', build: 'clean' })
    for (const build of world.api.builds) build.state = 'error'
    expect((await world.start(named())).rung).toBe('built')
  })

  test('rejects when the tags cannot be moved', async () => {
    const world = new World()
    world.api.fault = failing('assignTags', () => problem('PLATFORM'))
    expect(await rejection(ensure(world, { buildTags: ['current'] }))).toMatchObject({ code: 'PLATFORM' })
  })

  test.each<[string, () => Promise<boolean>]>([
    ['rejects', isUnreachable],
    [
      'throws',
      () => {
        throw new Error('head unreachable')
      },
    ],
  ])('rejects with a typed error where isCurrent %s', async (_how, broken) => {
    const world = new World()
    const error = await rejection(ensure(world, { buildTags: ['current'], isCurrent: broken }))
    expect(error).toMatchObject({ code: 'INVALID_SPEC', cause: { message: 'head unreachable' } })
  })

  test('ends with a typed error where isCurrent hangs', async () => {
    const world = new World()
    const error = await rejection(ensure(world, { buildTags: ['current'], isCurrent: hangs }))
    expect(error).toMatchObject({ code: 'REQUEST_TIMEOUT' })
    expect(world.clock.sleeping).toBe(0)
  })

  test('looks again where one look is answered with an error', async () => {
    const world = new World()
    world.api.fault = failing('status', () => problem('SERVICE_BUSY'), 2)
    expect(await ensure(world)).toMatchObject({ action: 'built' })
  })

  test('refuses a name of another account and content that may not be used', async () => {
    const world = new World()
    world.api.foreign.add(REF)
    expect(await rejection(ensure(world))).toMatchObject({ code: 'TEMPLATE_FOREIGN' })
    const refused = { code: 'ACCESS_DENIED', message: 'the host answered 403' }
    expect(await rejection(ensure(world, { refused }))).toMatchObject({
      code: 'ACCESS_REFUSED',
      message: expect.stringContaining('(ACCESS_DENIED): the host answered 403'),
      hint: expect.stringContaining('credentials'),
      attempts: [{ rung: 'exact', ref: REF, outcome: 'refused', code: 'ACCESS_DENIED' }],
    })
    const told = world.events.slice(-3)
    expect(told).toMatchObject([
      { type: 'rung', outcome: 'refused', code: 'ACCESS_DENIED' },
      { type: 'warning', code: 'ACCESS_DENIED' },
      { type: 'resolution-end', outcome: 'failed', code: 'ACCESS_REFUSED' },
    ])
    expect(world.api.count('requestBuild')).toBe(0)
  })

  test('many calls at once: one build', async () => {
    const world = new World()
    const results = await Promise.all(Array.from({ length: 8 }, () => ensure(world)))
    expect(results).toMatchObject(results.map(() => ({ ref: REF, action: 'built' })))
    expect(world.api.count('requestBuild')).toBe(1)
  })
})
