import {
  attemptsOf,
  ResolutionError,
  settleBackgroundBuilds,
  type TemplateSpec,
  TemplateUnusableError,
} from '@warmbox/resolution'
import { Template } from 'e2b'
import { describe, expect, test } from 'vitest'
import { failing, problem } from './support/fake-platform.ts'
import { createAnswer, defaultRef, named, REF, rejection, STALE, trace, World } from './support/world.ts'

describe('the wanted template', () => {
  test('ready: boots it on the exact rung and asks nothing else', async () => {
    const world = new World()
    world.api.seed(REF, 'ready')
    const result = await world.start(named())
    expect(result).toMatchObject({ value: `sandbox of ${REF}`, ref: REF, rung: 'exact' })
    expect(trace(result.attempts)).toEqual(['exact booted'])
    expect(world.api.calls).toEqual([{ method: 'tags', ref: 'mastra-repo-abc' }])
  })

  test('missing: is built once, then booted', async () => {
    const world = new World()
    const result = await world.start(named())
    expect(trace(result.attempts)).toEqual(['exact missing', 'built booted'])
    expect(result.rung).toBe('built')
    expect(world.api.count('requestBuild')).toBe(1)
    expect(world.api.builds[0]?.request).toMatchObject({ ref: REF, cpuCount: 2, memoryMB: 1024 })
  })

  test('a bare ref is asked, built and booted as its default tag', async () => {
    const world = new World()
    const result = await world.start(named({ ref: 'Mine' }))
    expect(result.ref).toBe('mine:default')
    expect(world.api.builds[0]?.ref).toBe('mine:default')
  })

  test('both ready and an earlier build there: the exact one wins', async () => {
    const world = new World()
    world.api.seed(STALE, 'ready')
    world.api.seed(REF, 'ready')
    expect((await world.start(named({ staleRef: STALE }))).rung).toBe('exact')
  })

  test('ready but not bootable: is built anew, although a build is ready', async () => {
    const world = new World()
    world.api.seed(REF, 'ready')
    world.broken.add(REF)
    const boot: World['boot'] = async (ref, signal, attempt) => {
      if (attempt.rung === 'built') world.broken.clear()
      return world.boot(ref, signal, attempt)
    }
    const result = await world.start(named(), { boot })
    // Once on the word of its tag, once more because its status is ready.
    expect(trace(result.attempts)).toEqual(['exact unusable', 'exact unusable', 'built booted'])
    expect(world.api.count('requestBuild')).toBe(1)
  })

  test('a name of another account is neither booted nor built', async () => {
    const world = new World()
    world.api.foreign.add(REF)
    world.api.seed(defaultRef(), 'ready')
    const result = await world.start(named())
    expect(trace(result.attempts)).toEqual(['exact missing', 'exact refused', 'default booted'])
    expect(result.attempts[1]?.code).toBe('TEMPLATE_FOREIGN')
    expect(world.api.count('requestBuild')).toBe(0)
  })

  test('the platform cannot tell whether it is ready: create is asked instead', async () => {
    const world = new World()
    world.api.seed(REF, 'ready')
    world.api.fault = failing('tags', () => problem('PLATFORM'))
    expect((await world.start(named())).rung).toBe('exact')
    expect(world.api.count('status')).toBe(0)
  })
})

describe('an earlier build', () => {
  test('boots at once while the wanted one is built in the background and its tags are moved', async () => {
    const world = new World()
    world.api.seed(STALE, 'ready')
    const result = await world.start(named({ staleRef: STALE, buildTags: ['current'] }))
    expect(trace(result.attempts)).toEqual(['exact missing', 'stale booted'])
    expect(world.api.count('requestBuild')).toBe(0)
    await settleBackgroundBuilds()
    expect(world.api.buildOf(REF)?.request?.ref).toBe(REF)
    expect(world.api.buildOf(STALE)?.id).toBe(world.api.buildOf(REF)?.id)
    expect(world.eventsOf('build-start')).toEqual([{ type: 'build-start', ref: REF, background: true }])
    expect((await world.start(named({ staleRef: STALE }))).rung).toBe('exact')
  })

  test('is handed over before anything is asked for in the background', async () => {
    const world = new World()
    world.api.seed(STALE, 'ready')
    await world.start(named({ staleRef: STALE, isCurrent: async () => true }))
    expect(world.api.calls.map(({ method }) => method)).toEqual(['tags'])
    await settleBackgroundBuilds()
    await world.start(named({ staleRef: STALE, buildTags: ['current'], isCurrent: async () => true }))
    expect(world.api.calls.at(-1)).toMatchObject({ method: 'tags' })
    const asked = world.api.calls.length
    await settleBackgroundBuilds()
    expect(world.api.calls.slice(asked).map(({ method }) => method)).toEqual(['tags'])
  })

  test('hands the background build to waitUntil, which never rejects', async () => {
    const world = new World()
    world.api.seed(STALE, 'ready')
    world.api.fault = failing('requestBuild', () => problem('QUOTA_EXCEEDED'))
    const work: Promise<unknown>[] = []
    await world.start(named({ staleRef: STALE }), { waitUntil: (promise) => work.push(promise) })
    expect(work).toHaveLength(1)
    await expect(Promise.all(work)).resolves.toEqual([undefined])
    expect(world.eventsOf('warning')).toMatchObject([{ code: 'QUOTA_EXCEEDED', ref: REF }])
  })

  test('a trigger that failed is tried again by the next session', async () => {
    const world = new World()
    world.api.seed(STALE, 'ready')
    world.api.fault = failing('requestBuild', () => problem('QUOTA_EXCEEDED'), 1)
    await world.start(named({ staleRef: STALE }))
    await settleBackgroundBuilds()
    await world.start(named({ staleRef: STALE }))
    await settleBackgroundBuilds()
    expect(world.api.buildOf(REF)).toBeDefined()
  })

  test('a build is made under buildRef where one is given, and found there by the next session', async () => {
    const world = new World()
    const spec = named({ ref: 'mastra-repo-abc:current', buildRef: 'mastra-repo-abc:unpinned' })
    expect(await world.start(spec)).toMatchObject({ rung: 'built', ref: 'mastra-repo-abc:unpinned' })
    expect(await world.start(spec)).toMatchObject({ ref: 'mastra-repo-abc:unpinned' })
    expect(world.api.builds.map(({ ref }) => ref)).toEqual(['mastra-repo-abc:unpinned'])
  })

  test('missing too: the wanted one is built and waited for', async () => {
    const world = new World()
    const result = await world.start(named({ staleRef: STALE }))
    expect(trace(result.attempts)).toEqual(['exact missing', 'stale missing', 'built booted'])
  })

  test('a start that fails leaves no background build', async () => {
    const world = new World()
    world.api.seed(STALE, 'ready')
    const failure = createAnswer(500, 'no node')
    const boot = (): Promise<string> => Promise.reject(failure)
    await expect(rejection(world.start(named({ staleRef: STALE }), { boot }))).resolves.toBe(failure)
    await settleBackgroundBuilds()
    expect(world.api.count('requestBuild')).toBe(0)
  })
})

describe('somebody else builds the wanted template', () => {
  test('in another process: their build is awaited and none is started', async () => {
    const world = new World()
    world.api.seed(REF, 'building', { logs: ['their log'] })
    const result = await world.start(named())
    expect(trace(result.attempts)).toEqual(['exact unusable', 'joined booted'])
    expect(world.api.count('requestBuild')).toBe(0)
    expect(world.eventsOf('build-log')).toEqual([])
    expect(world.eventsOf('build-joined')).toEqual([
      { type: 'build-joined', ref: REF, background: false, foundBy: 'tag', buildId: 'build-1' },
    ])
    expect(world.eventsOf('build-start')).toEqual([])
  })

  test('in this process: many sessions at once share one build', async () => {
    const world = new World()
    const results = await Promise.all(Array.from({ length: 20 }, () => world.start(named())))
    expect(world.api.count('requestBuild')).toBe(1)
    expect(results.map(({ rung }) => rung).toSorted()).toEqual(['built', ...Array<string>(19).fill('joined')])
    expect(world.eventsOf('build-joined')).toEqual(
      Array.from({ length: 19 }, () => ({ type: 'build-joined', ref: REF, background: false, foundBy: 'process' })),
    )
  })

  test('and a newer one of somebody else cancels it: the newer one is joined', async () => {
    const world = new World()
    const theirs = world.api.seed(REF, 'building', { end: { message: 'build was cancelled' } })
    world.api.fault = ({ method }) => {
      if (method === 'tags' && theirs.state === 'error') world.api.seed(REF, 'building')
    }
    const result = await world.start(named())
    expect(trace(result.attempts)).toEqual(['exact unusable', 'joined booted'])
    expect(world.api.count('requestBuild')).toBe(0)
    expect(new Set(world.eventsOf('build-joined').map(({ buildId }) => buildId)).size).toBe(2)
  })

  test('and left it before the start: that very build is started', async () => {
    const world = new World()
    const left = world.api.seed(REF, 'waiting')
    const since = world.clock.now()
    const result = await world.start(named())
    expect(result.rung).toBe('built')
    expect(left.state).toBe('ready')
    expect([world.api.count('requestBuild'), world.api.count('startBuild')]).toEqual([0, 1])
    expect(world.clock.now() - since).toBeLessThan(60_000)
    const builds = world.events.filter(({ type }) => type.startsWith('build-'))
    expect(builds.map(({ type }) => type)).toEqual(['build-joined', 'build-taken-over', 'build-start', 'build-end'])
    expect(world.eventsOf('build-taken-over')).toMatchObject([{ ref: REF, background: false, buildId: left.id }])
    expect(world.eventsOf('build-taken-over')[0]?.waitedMs).toBeGreaterThan(15_000)
  })

  test('and left it before the start, which is refused: it is superseded', async () => {
    const world = new World()
    const left = world.api.seed(REF, 'waiting', {}, world.clock.now() - 10 * 60_000)
    let refusals = 0
    world.api.fault = ({ method }) => {
      if (method !== 'startBuild' || refusals > 0) return undefined
      refusals += 1
      return problem('BAD_REQUEST', 'not to be started')
    }
    const result = await world.start(named())
    expect(result.rung).toBe('built')
    expect(left.state).toBe('error')
    expect(world.api.count('requestBuild')).toBe(1)
  })

  test('and left it before its upload: nobody else can start it, so it is superseded after some minutes', async () => {
    const world = new World()
    const left = world.api.seed(REF, 'waiting')
    const since = world.clock.now()
    const template = Template().fromImage('node:24').copy('package.json', '/srv/', { forceUpload: true })
    const result = await world.start(named({ template }))
    expect(result.rung).toBe('built')
    expect(left.state).toBe('error')
    expect(world.clock.now() - since).toBeGreaterThan(60_000)
  })

  test('a build whose request was answered by a lost connection is found and started, not made twice', async () => {
    const world = new World()
    let lost = 0
    world.api.fault = ({ method }) => {
      if (method !== 'requestBuild' || lost > 0) return undefined
      lost += 1
      world.api.seed(REF, 'waiting')
      return problem('NETWORK', 'socket hang up')
    }
    const result = await world.start(named())
    expect(result.rung).toBe('built')
    expect(world.api.builds).toHaveLength(1)
  })

  test('longer than this session waits: the session starts lower, the build goes on', async () => {
    const world = new World()
    world.api.seed(REF, 'building', { end: 'never' })
    world.api.seed(defaultRef(), 'ready')
    const result = await world.start(named(), { buildTimeoutMs: 30_000 })
    expect(trace(result.attempts)).toEqual(['exact unusable', 'built failed', 'default booted'])
    expect(result.attempts[1]?.code).toBe('BUILD_TIMEOUT')
    expect(world.clock.sleeping).toBe(0)
  })
})

describe('a build that fails', () => {
  const brokenStep = { end: { message: 'pnpm install exited with 1', step: '4' } } as const

  test('in a step of the template: the fallback is built and booted', async () => {
    const world = new World()
    world.api.scripts.push(brokenStep)
    const fallbackTemplate = named({ ref: 'plain:v1' })
    const result = await world.start(named({ fallbackTemplate }))
    expect(trace(result.attempts)).toEqual(['exact missing', 'built failed', 'fallback booted'])
    expect(result.attempts[1]).toMatchObject({ code: 'BUILD_STEP_FAILED' })
    expect(world.eventsOf('build-end')).toMatchObject([{ outcome: 'failed', step: '4' }, { outcome: 'ready' }])
    expect(world.api.builds.map(({ ref }) => ref)).toEqual([REF, 'plain:v1'])
  })

  test('is told by the first line of what the platform quotes and by how it ended, redacted before it is cut', async () => {
    const world = new World()
    const secret = 'first half\nsecond half'
    const message = `failed to run command '# setup\n${secret}\nexit 3': ${secret}`
    world.api.scripts.push({ end: { message, step: '4' } })
    const result = await world.start(named({ redact: [secret], fallbackTemplate: named({ ref: 'plain:v1' }) }))
    expect(result.attempts[1]?.reason).toBe(
      `Step 4 of the build of '${REF}' failed: failed to run command '# setup …': ***`,
    )
  })

  test('in a step is not repeated by the next session, but by another ref', async () => {
    const world = new World()
    world.api.seed(defaultRef(), 'ready')
    world.api.scripts.push(brokenStep)
    await world.start(named())
    world.clock.advance(24 * 3_600_000)
    const second = await world.start(named())
    expect(trace(second.attempts)).toEqual(['exact unusable', 'built skipped', 'default booted'])
    expect(second.attempts[1]?.code).toBe('BUILD_BACKOFF')
    expect((await world.start(named({ ref: 'mastra-repo-abc:sha-2' }))).rung).toBe('built')
  })

  test('for the platform is tried again at once, and ends well', async () => {
    const world = new World()
    world.api.scripts.push({ end: { message: 'node lost', step: 'base' } }, { end: { message: 'node lost' } })
    const result = await world.start(named())
    expect(result.rung).toBe('built')
    expect(world.api.count('requestBuild')).toBe(3)
  })

  test('for the platform again and again: degrades, and is tried again after a backoff', async () => {
    const world = new World()
    world.api.seed(defaultRef(), 'ready')
    const lost = { end: { message: 'node lost', step: 'finalize' } }
    world.api.scripts.push(lost, lost, lost)
    expect((await world.start(named())).rung).toBe('default')
    expect(trace((await world.start(named())).attempts)).toContain('built skipped')
    world.clock.advance(61_000)
    expect((await world.start(named())).rung).toBe('built')
  })

  test('for a quota: a template that exists serves, and no other build is started', async () => {
    const world = new World()
    world.api.fault = failing('requestBuild', () => problem('QUOTA_EXCEEDED'))
    world.api.seed(defaultRef(), 'ready')
    const result = await world.start(named({ fallbackTemplate: named({ ref: 'plain:v1' }) }))
    expect(trace(result.attempts)).toEqual(['exact missing', 'built failed', 'fallback skipped', 'default booted'])
    expect(world.api.count('requestBuild')).toBe(1)
  })

  test('for a quota and nothing exists: ends with the attempts and a single request', async () => {
    const world = new World()
    world.api.fault = failing('requestBuild', () => problem('QUOTA_EXCEEDED'))
    const error = await rejection(world.start(named()))
    expect(error).toMatchObject({
      code: 'LADDER_EXHAUSTED',
      message: expect.stringContaining('a limit of the account'),
      hint: expect.stringContaining('raise the limit of the plan'),
      cause: { code: 'QUOTA_EXCEEDED' },
    })
    expect(world.api.count('requestBuild')).toBe(1)
  })

  test.each(['AUTHENTICATION', 'FORBIDDEN'] as const)('for %s: ends the start, no lower rung', async (code) => {
    const world = new World()
    world.api.seed(defaultRef(), 'ready')
    world.api.fault = failing('requestBuild', () => problem(code))
    const error = await rejection(world.start(named()))
    expect(error).toMatchObject({ code })
    expect(trace(attemptsOf(error))).toEqual(['exact missing', 'built failed'])
    expect(world.booted).toEqual([])
  })

  test.each(['CONFLICT', 'FORBIDDEN', 'PLATFORM', 'BAD_REQUEST'] as const)(
    'because a rival was faster (%s): theirs is joined',
    async (code) => {
      const world = new World()
      world.api.fault = (call) => {
        if (call.method !== 'requestBuild') return undefined
        world.api.seed(REF, 'building')
        return problem(code)
      }
      const result = await world.start(named())
      expect(result.rung).toBe('joined')
      expect(world.api.count('requestBuild')).toBe(1)
    },
  )

  test('because a rival superseded it before its start: theirs is joined', async () => {
    const world = new World()
    world.api.fault = (call) => {
      if (call.method !== 'startBuild') return undefined
      world.api.seed(REF, 'building')
      return problem('BAD_REQUEST', 'build is not in waiting state')
    }
    expect((await world.start(named())).rung).toBe('joined')
    expect(world.api.count('requestBuild')).toBe(1)
  })

  test('to start for a busy platform: is started again after a pause, never joined with itself', async () => {
    const world = new World()
    world.api.fault = failing('startBuild', () => problem('SERVICE_BUSY'), 1)
    const began = world.clock.now()
    const result = await world.start(named())
    expect(result.rung).toBe('built')
    expect(world.clock.now() - began).toBeLessThan(60_000)
    expect(world.api.count('requestBuild')).toBe(1)
    expect(world.api.count('startBuild')).toBe(2)
  })

  test('to tell its state for a while: is waited for all the same', async () => {
    const world = new World()
    world.api.fault = failing('buildProgress', () => problem('NETWORK'), 4)
    expect((await world.start(named())).rung).toBe('built')
    expect(world.api.count('requestBuild')).toBe(1)
  })

  test('and what runs cannot be read: no build is started, the session starts lower', async () => {
    const world = new World()
    world.api.seed(defaultRef(), 'ready')
    world.api.fault = failing('tags', () => problem('NETWORK'))
    expect((await world.start(named())).rung).toBe('default')
    expect(world.api.count('requestBuild')).toBe(0)
  })
})

const bootsNothing: World['boot'] = (ref) => Promise.reject(createAnswer(404, `template '${ref}' not found`))

describe('create answers', () => {
  test.each([400, 401, 403, 409, 429, 500, 503, 504])(
    '%i: propagates unchanged and nothing else is booted',
    async (status) => {
      const world = new World()
      world.api.seed(REF, 'ready')
      const failure = createAnswer(status, 'whatever')
      let boots = 0
      const boot = (): Promise<string> => {
        boots += 1
        return Promise.reject(failure)
      }
      expect(await rejection(world.start(named(), { boot }))).toBe(failure)
      expect(boots).toBe(1)
    },
  )

  test('404 everywhere: every rung is tried once, then an error names them all', async () => {
    const world = new World()
    const error = await rejection(world.start(named({ fallbackTemplate: 'other' }), { boot: bootsNothing }))
    expect(error).toBeInstanceOf(ResolutionError)
    expect(error).toMatchObject({ code: 'LADDER_EXHAUSTED' })
    expect(error instanceof ResolutionError ? trace(error.attempts) : []).toEqual([
      'exact missing',
      'built unusable',
      'fallback unusable',
      'default unusable',
      'rebuilt unusable',
    ])
    expect(world.api.count('requestBuild')).toBe(3)
  })

  test('the typed error of a provider moves on like a 404', async () => {
    const world = new World()
    world.api.seed(REF, 'ready')
    world.api.seed(defaultRef(), 'ready')
    const boot: World['boot'] = async (ref, signal, attempt) => {
      if (attempt.rung === 'exact') throw new TemplateUnusableError(ref)
      return world.boot(ref, signal, attempt)
    }
    const result = await world.start(named(), { boot })
    expect(trace(result.attempts)).toEqual(['exact unusable', 'exact unusable', 'built booted'])
  })
})

describe('the default template', () => {
  test('serves a session without a spec, built at the size asked for', async () => {
    const world = new World()
    const resources = { cpuCount: 4, memoryMB: 4096 }
    const result = await world.start(undefined, { resources })
    expect(result).toMatchObject({ rung: 'default', ref: defaultRef(resources) })
    expect(world.api.builds[0]?.request).toMatchObject(resources)
    expect((await world.start(undefined, { resources })).attempts).toMatchObject([{ rung: 'default' }])
    expect(world.api.builds).toHaveLength(1)
  })

  test('takes the size of the spec that failed', async () => {
    const world = new World()
    world.api.scripts.push({ end: { message: 'no', step: '1' } })
    const result = await world.start(named({ buildResources: { memoryMB: 2048 } }))
    expect(result.ref).toBe(defaultRef({ memoryMB: 2048 }))
    expect(world.api.builds.map(({ request }) => request?.memoryMB)).toEqual([2048, 2048])
  })

  test('ready but not bootable: is built again, once', async () => {
    const world = new World()
    world.api.seed(defaultRef(), 'ready')
    world.broken.add(defaultRef())
    const error = await rejection(world.start(undefined))
    expect(trace(attemptsOf(error))).toEqual(['default unusable', 'default unusable', 'rebuilt unusable'])
    expect(world.api.count('requestBuild')).toBe(1)
  })

  test('its build fails in a step: is built again, once, however often that happened before', async () => {
    const world = new World()
    const broken = { end: { message: 'apt is down', step: '1' } }
    world.api.scripts.push(broken, broken, broken)
    await rejection(world.start(undefined))
    const result = await world.start(undefined)
    expect(trace(result.attempts)).toEqual(['default unusable', 'default failed', 'rebuilt booted'])
  })
})

describe('a string', () => {
  test('is booted without a question, public templates included', async () => {
    const world = new World()
    world.public.add('base')
    const result = await world.start('base')
    expect(result).toMatchObject({ rung: 'exact', ref: 'base' })
    expect(world.api.calls).toEqual([])
  })

  test('a build id in the place of the tag is left as it is', async () => {
    const world = new World()
    const ref = 'mine:123e4567-e89b-12d3-a456-426614174000'
    world.public.add(ref)
    expect((await world.start(ref)).ref).toBe(ref)
  })

  test('that does not exist: degrades to the default with a warning', async () => {
    const world = new World()
    const result = await world.start('gone')
    expect(trace(result.attempts)).toEqual(['exact unusable', 'default booted'])
    expect(world.eventsOf('warning')).toMatchObject([{ code: 'TEMPLATE_MISSING', ref: 'gone' }])
  })

  test('that does not exist, strictly: is an error and nothing is built', async () => {
    const world = new World()
    const error = await rejection(world.start('gone', { strictTemplate: true }))
    expect(error).toMatchObject({ code: 'TEMPLATE_MISSING', attempts: [{ rung: 'exact', outcome: 'unusable' }] })
    expect(world.api.calls).toEqual([])
  })
})

describe('a builder or a function', () => {
  const specs: [string, () => TemplateSpec][] = [
    ['builder', () => Template().fromBaseImage().runCmd('echo one')],
    ['function', () => (base) => base.runCmd('echo one')],
  ]

  test.each(specs)('%s: is built once under a name of its content', async (_kind, spec) => {
    const world = new World()
    const first = await world.start(spec())
    expect(first.ref).toMatch(/^mastra-[0-9a-f]+:default$/)
    expect(first.rung).toBe('built')
    const second = await world.start(spec())
    expect(second).toMatchObject({ rung: 'exact', ref: first.ref })
  })

  test('other content or another size has another name', async () => {
    const world = new World()
    const refs = await Promise.all([
      world.start((base) => base.runCmd('echo one')),
      world.start((base) => base.runCmd('echo two')),
      world.start((base) => base.runCmd('echo one'), { resources: { memoryMB: 2048 } }),
    ])
    expect(new Set(refs.map(({ ref }) => ref)).size).toBe(3)
  })
})

describe('a deferred spec', () => {
  test('is resolved once per start, with the signal', async () => {
    const world = new World()
    const { signal } = new AbortController()
    const seen: unknown[] = []
    const spec = {
      resolveSpec: async (context?: { signal?: AbortSignal | undefined }) => {
        seen.push(context?.signal)
        return named()
      },
    }
    expect((await world.start(spec, { signal })).ref).toBe(REF)
    expect(seen).toEqual([signal])
  })

  test('that rejects: degrades to the default, its foreign message is not repeated', async () => {
    const world = new World()
    const spec = { resolveSpec: () => Promise.reject(new Error('token hunter2 refused')) }
    expect((await world.start(spec)).rung).toBe('default')
    expect(world.eventsOf('warning')).toMatchObject([{ code: 'SPEC_UNRESOLVED' }])
    expect(JSON.stringify(world.events)).not.toContain('hunter2')
  })

  test('that gives something malformed: degrades to the default', async () => {
    const world = new World()
    const result = await world.start({ resolveSpec: async () => named({ ref: 'not a ref' }) })
    expect(result.rung).toBe('default')
    expect(world.eventsOf('warning')).toMatchObject([{ code: 'INVALID_SPEC' }])
  })

  test('that is aborted: the reason propagates', async () => {
    const world = new World()
    const controller = new AbortController()
    const reason = new Error('enough')
    const spec = {
      resolveSpec: async () => {
        controller.abort(reason)
        throw new Error('the lookup was cut')
      },
    }
    expect(await rejection(world.start(spec, { signal: controller.signal }))).toBe(reason)
    expect(world.api.calls).toEqual([])
    expect(world.events).toMatchObject([{ type: 'resolution-end', outcome: 'aborted' }])
  })

  test('whose content is refused: neither it nor its earlier build is booted or built', async () => {
    const world = new World()
    world.api.seed(REF, 'ready')
    world.api.seed(STALE, 'ready')
    const refused = { code: 'ACCESS_DENIED', message: 'the host answered 403' }
    const spec = { resolveSpec: async () => named({ staleRef: STALE, refused }) }
    const result = await world.start(spec)
    expect(trace(result.attempts)).toEqual(['exact refused', 'default booted'])
    expect(world.api.calls.map(({ ref }) => ref)).not.toContain(REF)
    expect(world.eventsOf('warning')).toMatchObject([refused])
  })
})

describe('the fallback', () => {
  const failed = { end: { message: 'no', step: '1' } }

  test('may be a builder, named by its content', async () => {
    const world = new World()
    world.api.scripts.push(failed)
    const result = await world.start(named({ fallbackTemplate: Template().fromBaseImage() }))
    expect(result.rung).toBe('fallback')
    expect(result.ref).toMatch(/^mastra-[0-9a-f]+:default$/)
  })

  test('its own fallback is not looked at', async () => {
    const world = new World()
    world.api.scripts.push(failed, failed)
    world.public.add('deeper')
    const fallbackTemplate = named({ ref: 'plain:v1', fallbackTemplate: 'deeper' })
    const result = await world.start(named({ fallbackTemplate }))
    expect(trace(result.attempts)).toEqual(['exact missing', 'built failed', 'fallback failed', 'default booted'])
  })

  test('its earlier build is not looked at', async () => {
    const world = new World()
    world.api.scripts.push(failed)
    world.api.seed('plain:old', 'ready')
    const fallbackTemplate = named({ ref: 'plain:v1', staleRef: 'plain:old' })
    expect(await world.start(named({ fallbackTemplate }))).toMatchObject({ rung: 'fallback', ref: 'plain:v1' })
  })

  test('a string that does not exist is passed over with a warning', async () => {
    const world = new World()
    world.api.scripts.push(failed)
    const result = await world.start(named({ fallbackTemplate: 'gone' }), { strictTemplate: true })
    expect(result.rung).toBe('default')
    expect(world.eventsOf('warning')).toMatchObject([{ code: 'TEMPLATE_MISSING' }])
  })
})
