import { planTemplate, type TemplatePlan, type TemplateSpec } from '@warmbox/resolution'
import { Template, type TemplateBuilder } from 'e2b'
import { describe, expect, test } from 'vitest'
import { failing, problem } from './support/fake-platform.ts'
import { defaultRef, named, REF, rejection, STALE, World } from './support/world.ts'

const READ_ONLY = new Set(['status', 'tags', 'templateId', 'buildProgress'])

async function planIn(world: World, spec: TemplateSpec | undefined): Promise<TemplatePlan> {
  const plan = await planTemplate(spec, { api: world.api, clock: world.clock })
  expect(world.api.calls.filter(({ method }) => !READ_ONLY.has(method))).toEqual([])
  expect(world.clock.sleeping).toBe(0)
  return plan
}

const unpinned = async (template: TemplateBuilder, ref = REF) => (await planIn(new World(), { ref, template })).unpinned

describe('a plan', () => {
  test('of a ref that is ready: boots it', async () => {
    const world = new World()
    world.api.seed(REF, 'ready')
    expect(await planIn(world, named({ staleRef: STALE }))).toEqual({
      ref: REF,
      ready: true,
      rung: 'exact',
      boots: REF,
      wouldBootStale: false,
      wouldBuild: undefined,
      wouldTakeOver: undefined,
      wouldJoin: undefined,
      unpinned: [{ kind: 'image', name: 'e2bdev/base' }],
      missed: [],
    })
  })

  test('of a cold ref: builds it', async () => {
    expect(await planIn(new World(), named())).toMatchObject({
      ref: REF,
      ready: false,
      rung: 'built',
      boots: REF,
      wouldBuild: REF,
      missed: [{ rung: 'exact', ref: REF, reason: 'no build of it is ready' }],
    })
  })

  test('of a moved head: boots the earlier build, and builds or joins in the background', async () => {
    const world = new World()
    world.api.seed(STALE, 'ready')
    const spec = named({ staleRef: STALE })
    expect(await planIn(world, spec)).toMatchObject({
      ready: false,
      rung: 'stale',
      boots: STALE,
      wouldBootStale: true,
      wouldBuild: REF,
    })
    world.api.seed(REF, 'building')
    expect(await planIn(world, spec)).toMatchObject({ rung: 'stale', wouldBuild: undefined, wouldJoin: REF })
  })

  test('of a ref that somebody builds: joins', async () => {
    const world = new World()
    world.api.seed(REF, 'building')
    expect(await planIn(world, named())).toMatchObject({ rung: 'joined', wouldJoin: REF, wouldBuild: undefined })
  })

  test('of a ref whose build was requested and left: starts that one, as the session does', async () => {
    const world = new World()
    const left = world.api.seed(REF, 'waiting')
    expect(await planIn(world, named())).toMatchObject({ rung: 'joined', wouldJoin: REF, wouldTakeOver: undefined })
    world.clock.advance(16_000)
    const plan = await planIn(world, named())
    expect(plan).toMatchObject({ rung: 'built', wouldBuild: REF, wouldTakeOver: left.id, wouldJoin: undefined })
    world.api.seed(STALE, 'ready')
    expect(await planIn(world, named({ staleRef: STALE }))).toMatchObject({ rung: 'stale', wouldTakeOver: left.id })
    expect((await world.start(named())).rung).toBe(plan.rung)
    expect(world.api.count('requestBuild')).toBe(0)
  })

  test('of a ref that stands for another one whose build is ready: neither builds nor joins', async () => {
    const world = new World()
    const spec = named({ buildRef: 'mastra-repo-abc:unpinned' })
    world.api.seed('mastra-repo-abc:unpinned', 'ready')
    const plan = await planIn(world, spec)
    expect(plan).toMatchObject({ rung: 'joined', wouldBuild: undefined, wouldJoin: undefined })
    expect(await world.start(spec)).toMatchObject({ rung: plan.rung, ref: plan.boots })
    expect(world.api.count('requestBuild')).toBe(0)
  })

  test('of a ref whose build was abandoned: builds', async () => {
    const world = new World()
    world.api.seed(REF, 'waiting')
    world.clock.advance(3_600_000)
    expect(await planIn(world, named())).toMatchObject({ rung: 'built', wouldBuild: REF })
  })

  test('of a ref whose step fails: goes lower, and says why', async () => {
    const world = new World()
    world.api.seed(REF, 'error', { end: { message: 'exit 1', step: '3' } })
    const plan = await planIn(world, named({ fallbackTemplate: 'gone' }))
    expect(plan).toMatchObject({ rung: 'default', wouldBuild: defaultRef() })
    expect(plan.missed.map(({ rung }) => rung)).toEqual(['exact', 'built', 'fallback', 'default'])
    expect(plan.missed[1]?.reason).toContain('exit 1')
  })

  test('of content that may not be used, or could not be determined: starts lower', async () => {
    const refused = { code: 'ACCESS_REFUSED', message: 'the host answered 403' }
    expect(await planIn(new World(), named({ refused }))).toMatchObject({
      ref: REF,
      ready: false,
      rung: 'default',
      missed: [{ rung: 'exact', ref: REF, reason: 'the host answered 403' }, { rung: 'default' }],
    })
    const broken = { resolveSpec: () => Promise.reject(new Error('no')) }
    expect(await planIn(new World(), broken)).toMatchObject({ rung: 'default', boots: defaultRef() })
  })

  test('of a string: asks for it; strictly, nothing is left', async () => {
    const world = new World()
    world.api.seed('mine:v1', 'ready')
    expect(await planIn(world, 'mine:v1')).toMatchObject({ ref: 'mine:v1', ready: true, rung: 'exact' })
    const strict = await planTemplate('gone', { api: world.api, clock: world.clock, strictTemplate: true })
    expect(strict).toMatchObject({ ready: false, rung: undefined, boots: undefined })
  })

  test('agrees with the session that follows', async () => {
    const world = new World()
    const { boots, rung } = await planIn(world, named())
    expect(await world.start(named())).toMatchObject({ ref: boots, rung })
  })

  test('tells what is not pinned', async () => {
    const digest = `@sha256:${'a'.repeat(64)}`
    expect(await unpinned(Template().fromImage(`node${digest}`))).toEqual([])
    expect(await unpinned(Template().fromTemplate('mine:v1'))).toEqual([{ kind: 'template', name: 'mine:v1' }])
    expect(await unpinned(Template().fromImage(`node${digest}`), 'repo:unpinned')).toEqual([
      { kind: 'head', name: 'repo:unpinned' },
    ])
  })

  test.each(['PLATFORM', 'QUOTA_EXCEEDED', 'RATE_LIMITED'] as const)(
    'what %s hides is not said to be ready',
    async (code) => {
      const world = new World()
      world.api.fault = failing('status', () => problem(code))
      expect(await rejection(planIn(world, named()))).toMatchObject({ code })
      expect(await rejection(planIn(world, 'mine:v1'))).toMatchObject({ code })
    },
  )

  test('looks again where one look is answered with an error', async () => {
    const world = new World()
    world.api.fault = failing('status', () => problem('SERVICE_BUSY'), 1)
    expect(await planIn(world, named())).toMatchObject({ ready: false, rung: 'built' })
  })

  test('of a COPY step that has no source: goes lower, as the session does', async () => {
    const template = Template().fromBaseImage().copy('there-is-no-such-file', '/x')
    const plan = await planIn(new World(), named({ template }))
    expect(plan).toMatchObject({ rung: 'default', wouldBuild: defaultRef() })
    expect(plan.missed[1]?.reason).toMatch(/no files found/i)
  })

  test('a refused key is no plan', async () => {
    const world = new World()
    world.api.fault = () => problem('AUTHENTICATION')
    expect(await rejection(planIn(world, named()))).toMatchObject({ code: 'AUTHENTICATION' })
  })
})
