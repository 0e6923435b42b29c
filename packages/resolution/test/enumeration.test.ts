import { expect, test } from 'vitest'
import { enumerateLadder, MOST_CALLS } from './support/enumeration.ts'

test('whatever E2B answers, a start ends, with one sandbox at most, and stops where it must', async () => {
  const { broken, cases, mostCalls } = await enumerateLadder()
  console.log(`${cases} starts enumerated, ${mostCalls} calls at most`)
  expect(broken.slice(0, 3)).toEqual([])
  expect(cases).toBeGreaterThanOrEqual(10_000)
  expect(mostCalls).toBeLessThanOrEqual(MOST_CALLS)
}, 300_000)
