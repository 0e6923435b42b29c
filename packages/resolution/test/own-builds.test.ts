import { settleBackgroundBuilds } from '@warmbox/resolution'
import { Template } from 'e2b'
import { describe, expect, test } from 'vitest'
import { failing, problem } from './support/fake-platform.ts'
import { named, REF, rejection, World } from './support/world.ts'

const MINUTE_MS = 60_000
/** A template whose builds nobody else can start, since they need files of this machine. */
const copying = () => named({ template: Template().fromBaseImage().copy('package.json', '/app/') })

const from = (): never => {
  throw new RangeError('no such parent')
}

describe('a build that was requested here and whose files did not arrive', () => {
  test.each(['UPLOAD_FAILED', 'SERVICE_BUSY', 'NETWORK'] as const)(
    'once (%s): is the one that starts',
    async (code) => {
      const world = new World()
      const before = world.clock.now()
      world.api.fault = failing('startBuild', () => problem(code), 1)
      expect((await world.start(copying())).rung).toBe('built')
      expect(world.api.count('requestBuild')).toBe(1)
      expect(world.clock.now() - before).toBeLessThan(MINUTE_MS)
      expect(world.eventsOf('build-taken-over')).toEqual([])
    },
  )

  test('again and again: ends typed, and a later start of this process does not wait for it', async () => {
    const world = new World()
    const before = world.clock.now()
    world.api.fault = ({ method, ref }) =>
      method === 'startBuild' && ref === REF ? problem('UPLOAD_FAILED') : undefined
    const first = await world.start(copying())
    expect(first.attempts).toContainEqual(
      expect.objectContaining({ rung: 'built', outcome: 'failed', code: 'UPLOAD_FAILED' }),
    )
    world.api.fault = () => undefined
    expect((await world.start(copying())).rung).toBe('built')
    expect(world.eventsOf('build-joined')).toEqual([])
    expect(world.clock.now() - before).toBeLessThan(MINUTE_MS)
  })

  test('because its run was aborted: the next start does not wait for it either', async () => {
    const world = new World()
    const controller = new AbortController()
    world.api.fault = ({ method }) => {
      if (method !== 'startBuild') return undefined
      controller.abort(new Error('enough'))
      return controller.signal.reason
    }
    const stopped = await rejection(world.start(copying(), { signal: controller.signal }))
    expect(stopped).toMatchObject({ message: 'enough' })
    await settleBackgroundBuilds()
    world.api.fault = () => undefined
    const before = world.clock.now()
    expect((await world.start(copying())).rung).toBe('built')
    expect(world.clock.now() - before).toBeLessThan(MINUTE_MS)
  })
})

describe('a look that fails', () => {
  test.each(['SERVICE_BUSY', 'PLATFORM', 'NETWORK'] as const)(
    'once (%s): costs a pause, not the template',
    async (code) => {
      const world = new World()
      // The first list of tags is the session's, the second one looks for a build.
      let lists = 0
      world.api.fault = ({ method }) => {
        if (method === 'tags') lists += 1
        return method === 'tags' && lists === 2 ? problem(code) : undefined
      }
      expect((await world.start(named())).rung).toBe('built')
    },
  )

  test('for good: is not remembered as a build that failed', async () => {
    const world = new World()
    world.api.fault = ({ method, ref }) =>
      method === 'tags' && ref.startsWith('mastra-repo') ? problem('PLATFORM') : undefined
    const first = await world.start(named())
    expect(first.rung).toBe('default')
    world.api.fault = () => undefined
    expect((await world.start(named())).rung).toBe('built')
  })
})

describe('functions of a spec that throw', () => {
  test('incremental.from: a failed rung with the cause, and the ladder goes on', async () => {
    const world = new World()
    world.api.seed('mastra-repo-abc:other', 'ready')
    const result = await world.start(named({ incremental: { from, cleanTags: [] } }))
    expect(result.rung).toBe('default')
    expect(result.attempts).toContainEqual(
      expect.objectContaining({ ref: REF, code: 'INVALID_SPEC', reason: expect.stringContaining('no such parent') }),
    )
  })
})
