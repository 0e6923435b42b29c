import { getEventListeners } from 'node:events'
import { attemptsOf, settleBackgroundBuilds } from '@warmbox/resolution'
import { describe, expect, test } from 'vitest'
import { named, rejection, STALE, trace, World } from './support/world.ts'

describe('an aborted start', () => {
  test('before it began: rejects with the reason and asks nothing', async () => {
    const world = new World()
    const reason = new Error('never mind')
    expect(await rejection(world.start(named(), { signal: AbortSignal.abort(reason) }))).toBe(reason)
    expect(world.api.calls).toEqual([])
  })

  test('while its build runs: rejects with the reason, leaves no timer and no listener', async () => {
    const world = new World()
    world.api.scripts.push({ end: 'never' })
    const controller = new AbortController()
    const reason = new Error('enough')
    world.api.fault = ({ method }) => {
      if (method === 'buildProgress' && world.api.count('buildProgress') === 3) controller.abort(reason)
    }
    expect(await rejection(world.start(named(), { signal: controller.signal }))).toBe(reason)
    await expect.poll(() => world.clock.sleeping).toBe(0)
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    await settleBackgroundBuilds()
    const asked = world.api.calls.length
    await new Promise((resolve) => setImmediate(resolve))
    expect(world.api.calls).toHaveLength(asked)
    expect(world.eventsOf('build-end')).toMatchObject([{ outcome: 'aborted', background: false }])
  })

  test('tells the attempts made before it on its reason, and none of them for a start after it', async () => {
    const world = new World()
    const controller = new AbortController()
    const reason = new Error('enough')
    world.api.fault = ({ method }) => {
      if (method === 'requestBuild') controller.abort(reason)
    }
    expect(await rejection(world.start(named({ staleRef: STALE }), { signal: controller.signal }))).toBe(reason)
    expect(trace(attemptsOf(reason))).toEqual(['exact missing', 'stale missing'])
    expect(attemptsOf(reason)).toMatchObject(world.eventsOf('rung').map(({ rung, ref }) => ({ rung, ref })))
    expect(Object.keys(reason)).toEqual([])

    expect(await rejection(world.start(named(), { signal: controller.signal }))).toBe(reason)
    expect(attemptsOf(reason)).toEqual([])
  })

  test('with a reason that can carry nothing rejects with it all the same', async () => {
    for (const reason of ['enough', Object.freeze(new Error('frozen'))]) {
      const world = new World()
      const controller = new AbortController()
      world.api.fault = ({ method }) => {
        if (method === 'requestBuild') controller.abort(reason)
      }
      expect(await rejection(world.start(named(), { signal: controller.signal }))).toBe(reason)
      expect(attemptsOf(reason)).toEqual([])
    }
  })

  test('of one session leaves the build to the others', async () => {
    const world = new World()
    const controller = new AbortController()
    const reason = new Error('only me')
    const leaving = rejection(world.start(named(), { signal: controller.signal }))
    const staying = world.start(named())
    world.api.fault = ({ method }) => {
      if (method === 'buildProgress') controller.abort(reason)
    }
    expect(await leaving).toBe(reason)
    expect((await staying).ref).toBe(named().ref)
    expect(world.api.count('requestBuild')).toBe(1)
  })

  test('does not keep the ref from being built by the next session', async () => {
    const world = new World()
    const controller = new AbortController()
    world.api.fault = ({ method }) => {
      if (method === 'requestBuild') controller.abort()
    }
    await rejection(world.start(named(), { signal: controller.signal }))
    world.api.fault = () => undefined
    expect((await world.start(named())).ref).toBe(named().ref)
  })
})
