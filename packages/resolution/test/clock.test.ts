import { getEventListeners } from 'node:events'
import { systemClock } from '@warmbox/resolution'
import { expect, test } from 'vitest'
import { rejection } from './support/world.ts'

const timers = (): number => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length

test('the clock of the machine wakes a sleeper and takes its listener away', async () => {
  const { signal } = new AbortController()
  await systemClock.sleep(1, signal)
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('an aborted sleep rejects with the reason, at once, and leaves no timer', async () => {
  const controller = new AbortController()
  const reason = new Error('enough')
  const before = timers()
  const sleep = rejection(systemClock.sleep(3_600_000, controller.signal))
  expect(timers()).toBe(before + 1)
  controller.abort(reason)
  expect(await sleep).toBe(reason)
  expect(timers()).toBe(before)
  expect(await rejection(systemClock.sleep(3_600_000, controller.signal))).toBe(reason)
})
