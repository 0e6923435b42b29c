import {
  attemptsOf,
  type BootOptions,
  bootRef,
  isResolutionError,
  type ResolutionErrorCode,
  settleBackgroundBuilds,
} from '@warmbox/resolution'
import { describe, expect, test } from 'vitest'
import { problem } from './support/fake-platform.ts'
import { createAnswer, defaultRef, named, REF, rejection, STALE, trace, World } from './support/world.ts'

/** A platform whose create fails, and may have made a sandbox all the same. */
class Ambiguous extends World {
  readonly asked: string[] = []
  readonly searches: { readonly attemptId: string; readonly at: number }[] = []
  /** What the search finds; called at each look. */
  found: (looks: number) => string | undefined = () => undefined
  failure: unknown = createAnswer(500, 'placement')

  get ports(): Pick<BootOptions<string>, 'boot' | 'adopt'> {
    return {
      boot: async (_ref, _signal, { attemptId }) => {
        this.asked.push(attemptId)
        throw this.failure
      },
      adopt: async (attemptId) => {
        this.searches.push({ attemptId, at: this.clock.now() })
        return this.found(this.searches.length)
      },
    }
  }
}

function ambiguous(): Ambiguous {
  const world = new Ambiguous()
  world.api.seed(REF, 'ready')
  return world
}

describe('a create that fails ambiguously', () => {
  test('is searched for by its attempt id, and what it made is taken', async () => {
    const world = ambiguous()
    world.found = (looks) => (looks === 2 ? 'late sandbox' : undefined)
    const result = await world.start(named(), world.ports)
    expect(result).toMatchObject({ value: 'late sandbox', rung: 'exact' })
    expect(world.searches.map(({ attemptId }) => attemptId)).toEqual([world.asked[0], world.asked[0]])
    expect(world.eventsOf('create')).toMatchObject([{ outcome: 'adopted', ref: REF, rung: 'exact' }])
  })

  test.each([
    ['an answer', createAnswer(502, 'gateway'), [0, 1_000]],
    ['a timeout', new DOMException('late', 'TimeoutError'), [0, 2_000, 6_000, 14_000]],
    ['a lost connection', new TypeError('fetch failed'), [0, 2_000, 6_000, 14_000]],
  ])('with %s and made nothing: ends the start with its own error after a while', async (_what, failure, looks) => {
    const world = ambiguous()
    world.failure = failure
    const began = world.clock.now()
    const error = await rejection(world.start(named({ fallbackTemplate: 'other' }), world.ports))
    expect(error).toBe(failure)
    expect(trace(attemptsOf(error))).toEqual(['exact failed'])
    expect(world.searches.map(({ at }) => at - began)).toEqual(looks)
    expect(world.asked).toHaveLength(1)
  })

  test('and cannot be searched for: ends the start, says that one may remain, and suspects nobody', async () => {
    const world = ambiguous()
    world.found = () => {
      throw problem('NETWORK')
    }
    for (let starts = 0; starts < 3; starts += 1) {
      expect(await rejection(world.start(named(), world.ports))).toBe(world.failure)
    }
    expect(world.eventsOf('warning')).toMatchObject(
      Array.from({ length: 3 }, () => ({ code: 'SANDBOX_MAY_REMAIN', ref: REF })),
    )
  })

  test('without a way to search: ends the start every time', async () => {
    const world = ambiguous()
    const { boot } = world.ports
    for (let starts = 0; starts < 3; starts += 1) {
      expect(await rejection(world.start(named(), { boot }))).toBe(world.failure)
    }
  })

  test('and the start is aborted meanwhile: what came of it is abandoned', async () => {
    const world = ambiguous()
    const controller = new AbortController()
    const abandoned: string[] = []
    world.found = () => {
      controller.abort(new Error('enough'))
      return undefined
    }
    const abandon = (attemptId: string): void => void abandoned.push(attemptId)
    const error = await rejection(world.start(named(), { ...world.ports, abandon, signal: controller.signal }))
    expect(error).toBe(controller.signal.reason)
    expect(abandoned).toEqual(world.asked)
    expect(world.clock.sleeping).toBe(0)
  })
})

describe('a ref from which creates come to nothing', () => {
  test('twice: counts as unusable, the next rung serves, and it is built anew', async () => {
    const world = ambiguous()
    world.api.seed(STALE, 'ready')
    const spec = named({ staleRef: STALE })
    const boot: World['boot'] = async (ref, signal, attempt) => {
      if (ref === REF) throw world.failure
      return world.boot(ref, signal, attempt)
    }
    const ports = { ...world.ports, boot }
    expect(await rejection(world.start(spec, ports))).toBe(world.failure)
    const result = await world.start(spec, ports)
    expect(trace(result.attempts)).toEqual(['exact unusable', 'stale booted'])
    expect(result.attempts[0]).toMatchObject({ code: 'TEMPLATE_UNUSABLE', reason: expect.stringContaining('Creates') })
    await settleBackgroundBuilds()
    expect(world.api.count('requestBuild')).toBe(1)
  })

  test.each<[string, (world: Ambiguous) => unknown]>([
    ['long ago', (world) => world.clock.advance(11 * 60_000)],
    ['before one worked', (world) => world.start(named())],
  ])('once more, the first time %s: is given another chance', async (_when, between) => {
    const world = ambiguous()
    await rejection(world.start(named(), world.ports))
    await between(world)
    expect(await rejection(world.start(named(), world.ports))).toBe(world.failure)
  })

  test('for want of a connection: is never blamed', async () => {
    const world = ambiguous()
    world.failure = new TypeError('fetch failed')
    for (let starts = 0; starts < 3; starts += 1) {
      expect(await rejection(world.start(named(), world.ports))).toBe(world.failure)
    }
  })

  test('is another one for another account', async () => {
    const [one, other] = [ambiguous(), ambiguous()]
    await rejection(one.start(named(), one.ports))
    expect(await rejection(other.start(named(), other.ports))).toBe(other.failure)
  })

  test('without a ladder: is a typed error the second time', async () => {
    const world = ambiguous()
    const options = { ...world.options, ...world.ports }
    expect(await rejection(bootRef(REF, options))).toBe(world.failure)
    expect(await rejection(bootRef(REF, options))).toMatchObject({ code: 'TEMPLATE_UNUSABLE', ref: REF })
  })
})

describe('old self-hosted clusters', () => {
  test.each<[string, boolean]>([
    ['whose lookup ignores the tag', true],
    ['which list no tags either', false],
  ])('%s: end in the same state', async (_what, listsTags) => {
    const world = new World()
    // The lookup says yes to every tag of a name that exists.
    const { api } = world
    api.seed('mastra-repo-abc:other', 'ready')
    const status = async (ref: string) => (ref.startsWith('mastra-repo-abc:') ? 'ready' : api.status(ref))
    const lying = new Proxy(api, {
      get: (target, key) => {
        if (key === 'status') return status
        if (key === 'tags' && !listsTags) return async () => undefined
        const value: unknown = Reflect.get(target, key, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const result = await world.start(named(), { api: lying })
    expect(trace(result.attempts)).toEqual(['exact missing', 'exact unusable', 'built booted'])
    expect(await world.start(named(), { api: lying })).toMatchObject({ rung: 'exact', ref: REF })
    expect(api.count('requestBuild')).toBe(1)
  })
})

test('an error of another copy of this package is known by its mark', () => {
  const foreign = Object.assign(new Error('no'), { code: 'NETWORK' satisfies ResolutionErrorCode })
  expect(isResolutionError(foreign)).toBe(false)
  Object.defineProperty(foreign, Symbol.for('warmbox.resolution.error'), { value: true })
  expect(isResolutionError(foreign)).toBe(true)
  expect(isResolutionError(problem('NETWORK'))).toBe(true)
})

/** A host whose request has ended already. */
const waitUntil = (): never => {
  throw new Error('no request is running')
}

test('a waitUntil that throws costs no session its sandbox', async () => {
  const world = new World()
  world.api.seed(STALE, 'ready')
  world.api.seed(defaultRef(), 'ready')
  expect((await world.start(named({ staleRef: STALE }), { waitUntil })).rung).toBe('stale')
  await settleBackgroundBuilds()
  expect(world.eventsOf('warning')).toMatchObject([{ code: 'WAIT_UNTIL_FAILED' }])
  expect(world.api.count('requestBuild')).toBe(1)
})
