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

/** A create in flight when the abort comes, that ends afterwards as `settle` says. */
const overtaken = async (settle: () => Promise<string>, ports: Partial<BootOptions<string>>) => {
  const world = ambiguous()
  const controller = new AbortController()
  let end: (() => void) | undefined
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const boot = async (_ref: string, _signal: AbortSignal, { attemptId }: { attemptId: string }): Promise<string> => {
    world.asked.push(attemptId)
    controller.abort(new Error('enough'))
    await ended
    return settle()
  }
  const starting = world.start(named(), { ...ports, boot, signal: controller.signal })
  return { world, starting, reason: () => controller.signal.reason, end: () => end?.() }
}

const nothingToDiscard = (): void => {
  throw new Error('There is nothing to discard')
}

describe('a start that is aborted while its create is under way', () => {
  test('is not kept waiting by it, and what it makes is discarded', async () => {
    const discarded: string[] = []
    const { end, reason, starting } = await overtaken(async () => 'late sandbox', {
      discard: async (value) => discarded.push(value),
    })
    expect(await rejection(starting)).toBe(reason())
    expect(discarded).toEqual([])
    end()
    await settleBackgroundBuilds()
    expect(discarded).toEqual(['late sandbox'])
  })

  test('and its discard fails: a warning says that a sandbox may be left, without what the failure quotes', async () => {
    const { end, starting, world } = await overtaken(async () => 'late sandbox', {
      discard: () => Promise.reject(new Error('hunter2')),
    })
    await rejection(starting)
    end()
    await settleBackgroundBuilds()
    expect(world.eventsOf('warning')).toMatchObject([{ code: 'SANDBOX_MAY_REMAIN', ref: REF }])
    expect(JSON.stringify(world.events)).not.toContain('hunter2')
  })

  test.each([
    ['ambiguously', createAnswer(500, 'placement'), true],
    ['because it was cut off', new DOMException('aborted', 'AbortError'), true],
    ['for certain', createAnswer(404, 'not found'), false],
    ['with a refusal', createAnswer(403, 'no'), false],
  ])('and then fails %s: only what may have come of it is abandoned, by its attempt id', async (_how, failure, may) => {
    const abandoned: string[] = []
    const told = await overtaken(() => Promise.reject(failure), {
      discard: nothingToDiscard,
      abandon: (attemptId) => abandoned.push(attemptId),
    })
    await rejection(told.starting)
    told.end()
    await settleBackgroundBuilds()
    expect(abandoned).toEqual(may ? told.world.asked : [])
    expect(told.world.eventsOf('warning')).toEqual([])
    // Nobody to tell is a warning where there is something to tell.
    const untold = await overtaken(() => Promise.reject(failure), { discard: nothingToDiscard })
    await rejection(untold.starting)
    untold.end()
    await settleBackgroundBuilds()
    expect(untold.world.eventsOf('warning').map(({ code }) => code)).toEqual(may ? ['SANDBOX_MAY_REMAIN'] : [])
  })

  test('or while the search adopts what it made: that is discarded', async () => {
    const world = ambiguous()
    const controller = new AbortController()
    const discarded: string[] = []
    world.found = () => {
      controller.abort(new Error('enough'))
      return 'found sandbox'
    }
    const discard = (value: string): void => void discarded.push(value)
    const error = await rejection(world.start(named(), { ...world.ports, discard, signal: controller.signal }))
    expect(error).toBe(controller.signal.reason)
    await settleBackgroundBuilds()
    expect(discarded).toEqual(['found sandbox'])
  })

  test('without a discard waits for boot, which sees to it by itself', async () => {
    const { end, starting } = await overtaken(async () => 'late sandbox', {})
    end()
    expect((await starting).value).toBe('late sandbox')
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
