import {
  type BuildLease,
  createMemoryLease,
  type LeaseGrant,
  type NamedTemplateSpec,
  settleBackgroundBuilds,
} from '@warmbox/resolution'
import { describe, expect, test } from 'vitest'
import { named, REF, STALE, World } from './support/world.ts'

/** A lease whose every method can be made to misbehave, and that records what is asked of it. */
class WatchedLease implements BuildLease {
  readonly asked: string[] = []
  readonly keys = new Set<string>()
  readonly #lease: BuildLease
  acquires: (() => Promise<LeaseGrant | undefined>) | undefined
  renews: (() => Promise<boolean>) | undefined

  constructor(world: World) {
    this.#lease = createMemoryLease(world.clock)
  }
  acquire(key: string, ttlMs: number, signal: AbortSignal): Promise<LeaseGrant | undefined> {
    this.asked.push('acquire')
    this.keys.add(key)
    return this.acquires?.() ?? this.#lease.acquire(key, ttlMs, signal)
  }
  renew(grant: LeaseGrant, ttlMs: number, signal: AbortSignal): Promise<boolean> {
    this.asked.push('renew')
    return this.renews?.() ?? this.#lease.renew(grant, ttlMs, signal)
  }
  release(grant: LeaseGrant, signal: AbortSignal): Promise<void> {
    this.asked.push('release')
    return this.#lease.release(grant, signal)
  }
}

const start = (world: World, lease: BuildLease, changes: Partial<NamedTemplateSpec> = {}) =>
  world.start(named(changes), { lease })

const warnings = (world: World): string[] => world.eventsOf('warning').map(({ code }) => code)

describe('a build', () => {
  test('is requested and started under the lease of its ref, which is free again while it runs', async () => {
    const world = new World()
    const lease = new WatchedLease(world)
    const during: string[][] = []
    world.api.fault = ({ method }) => {
      if (method === 'requestBuild' || method === 'startBuild' || method === 'buildProgress') {
        during.push([method, ...lease.asked])
      }
    }
    expect((await start(world, lease)).rung).toBe('built')
    expect(during.slice(0, 3)).toEqual([
      ['requestBuild', 'acquire'],
      ['startBuild', 'acquire'],
      ['buildProgress', 'acquire', 'release'],
    ])
    expect(world.clock.sleeping).toBe(0)
  })

  test('keys are short, hold neither ref nor account, and differ by both', async () => {
    const world = new World()
    const lease = new WatchedLease(world)
    await start(world, lease)
    await start(world, lease, { ref: 'mastra-repo-abc:sha-2' })
    const [other, ownLease] = [new World(), lease]
    await start(other, ownLease)
    expect([...lease.keys].map((key) => /^[0-9a-f]{40}$/.test(key))).toEqual([true, true, true])
  })

  test('is not requested while somebody else holds the lease, and theirs is joined as soon as it is there', async () => {
    const world = new World()
    const lease = new WatchedLease(world)
    let refusals = 0
    lease.acquires = async () => {
      refusals += 1
      if (refusals === 3) world.api.seed(REF, 'building')
      return undefined
    }
    expect((await start(world, lease)).rung).toBe('joined')
    expect(refusals).toBe(3)
    expect(world.api.count('requestBuild')).toBe(0)
  })

  test('whose rival died with the lease is requested when that ran out', async () => {
    const world = new World()
    const lease = new WatchedLease(world)
    lease.acquires = async () => {
      lease.acquires = undefined
      return undefined
    }
    expect((await start(world, lease)).rung).toBe('built')
    expect(lease.asked.filter((asked) => asked === 'acquire')).toHaveLength(2)
  })

  test('that is registered when the lease turns out to be lost is not started', async () => {
    const world = new World()
    const lease = new WatchedLease(world)
    world.api.fault = ({ method }) => {
      if (method !== 'requestBuild') return
      // The request took so long that the claim ran out, and meanwhile somebody else built the ref.
      world.clock.advance(60_000)
      world.api.fault = ({ method: next }) => {
        if (next === 'startBuild') throw new Error('A build without the lease was started')
        if (next === 'tags') world.api.seed(REF, 'building')
        world.api.fault = () => undefined
      }
    }
    expect((await start(world, lease)).rung).toBe('joined')
    expect(world.api.count('startBuild')).toBe(0)
    expect(world.eventsOf('build-end')).toMatchObject([{ outcome: 'aborted' }])
  })

  test('goes on without a lease where that fails, hangs or is out of reach, with a warning', async () => {
    const failures: (() => Promise<LeaseGrant | undefined>)[] = [
      () => Promise.reject(new Error('redis://user:secret@host')),
      () => new Promise(() => undefined),
      () => {
        throw new TypeError('closed')
      },
    ]
    for (const failure of failures) {
      const world = new World()
      const lease = new WatchedLease(world)
      lease.acquires = failure
      // oxlint-disable-next-line no-await-in-loop -- each world has a clock of its own that must not be disturbed
      expect((await start(world, lease)).rung).toBe('built')
      expect(warnings(world)).toEqual(['LEASE_UNAVAILABLE'])
      expect(JSON.stringify(world.events)).not.toContain('secret')
      expect(world.clock.sleeping).toBe(0)
    }
  })

  test.each(['null', 'false', 'true', '"OK"', '{}', '{"key":"k"}'])(
    'goes on without a lease that answers %s to a claim, with a warning that says so',
    async (answer) => {
      const world = new World()
      const lease = new WatchedLease(world)
      lease.acquires = async () => JSON.parse(answer)
      expect((await start(world, lease, { buildTags: ['current'], isCurrent: async () => true })).rung).toBe('built')
      await settleBackgroundBuilds()
      expect(new Set(warnings(world))).toEqual(new Set(['LEASE_UNAVAILABLE']))
      expect(world.eventsOf('warning')[0]?.message).toContain('neither a grant nor undefined')
      expect(lease.asked.filter((asked) => asked !== 'acquire')).toEqual([])
    },
  )

  test('gives back a claim that was granted after nobody waited for it any more', async () => {
    const world = new World()
    const lease = new WatchedLease(world)
    let grantLate: ((grant: LeaseGrant) => void) | undefined
    const late = new Promise<LeaseGrant>((resolve) => {
      grantLate = resolve
    })
    lease.acquires = () => late
    await start(world, lease)
    expect(lease.asked).toEqual(['acquire'])
    grantLate?.({ key: 'k', holder: 'late' })
    await expect.poll(() => lease.asked).toEqual(['acquire', 'release'])
  })
})

describe('moving tags', () => {
  const ORDER = ['sha-1', 'sha-2', 'sha-3']

  test('never moves one back: currency is asked and tags move as one, whoever builds last', async () => {
    const world = new World()
    const lease = createMemoryLease(world.clock)
    let head = 'sha-1'
    const moved: string[] = []
    world.api.fault = ({ method, ref }) => {
      if (method === 'assignTags') moved.push(ref.split(':')[1] ?? '')
    }
    await Promise.all(
      ORDER.map(async (sha, index) => {
        head = sha
        const isCurrent = async (): Promise<boolean> => {
          const answer = head === sha
          // What others do meanwhile must not come between the answer and the move.
          for (let turn = 0; turn < 5 - index; turn += 1) await Promise.resolve()
          return answer
        }
        const spec = { ref: `mastra-repo-abc:${sha}`, buildTags: ['current'], isCurrent }
        return start(world, lease, spec)
      }),
    )
    expect(moved).toEqual(moved.toSorted())
    expect(world.api.buildOf(STALE)?.ref).toBe('mastra-repo-abc:sha-3')
  })

  test('stops where the lease was lost while the head was looked up', async () => {
    const world = new World()
    const isCurrent = async (): Promise<boolean> => {
      world.clock.advance(60_000)
      return true
    }
    await start(world, createMemoryLease(world.clock), { buildTags: ['current'], isCurrent })
    await settleBackgroundBuilds()
    expect(world.api.count('assignTags')).toBe(0)
    expect(world.eventsOf('advance')).toMatchObject([{ outcome: 'failed' }])
  })

  test('that is held up for good ends, and the session has started all the same', async () => {
    const world = new World()
    const lease = new WatchedLease(world)
    const spec = { buildTags: ['current'], isCurrent: async () => true }
    world.api.fault = ({ method }) => {
      if (method === 'buildProgress') lease.acquires = async () => undefined
    }
    expect((await start(world, lease, spec)).rung).toBe('built')
    await settleBackgroundBuilds()
    expect(world.eventsOf('advance')).toMatchObject([{ outcome: 'failed' }])
  })

  test('asks for no lease where nothing is to be moved', async () => {
    const world = new World()
    world.api.seed(REF, 'ready')
    await world.api.assignTags(REF, ['current'])
    const lease = new WatchedLease(world)
    await start(world, lease, { buildTags: ['current'], isCurrent: async () => true })
    await settleBackgroundBuilds()
    expect(lease.asked).toEqual([])
  })
})
