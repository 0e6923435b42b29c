import { describe, expect, test } from 'vitest'
import { redisMissing, startRedis } from '../../../packages/resolution/test/support/redis-server.ts'
import { runFaults } from '../src/faults.ts'
import { runHeads } from '../src/heads.ts'
import { runStorm } from '../src/storm.ts'

/** Set where minutes count more than the last test; `pnpm test` alone runs all. */
const isShort = process.env['WARMBOX_SHORT_TESTS'] === '1'

const PATIENCE = { timeout: 240_000 }
const calm = { sandboxes: 100, fallbacks: 0, unhandled: 0 }
const without = redisMissing === '' ? '' : ` (skipped: ${redisMissing})`

describe.skipIf(isShort)('four processes with 25 starts each on one cold ref', () => {
  test.skipIf(redisMissing !== '')(`and a lease in Redis: one build is requested${without}`, PATIENCE, async () => {
    const redis = await startRedis()
    try {
      expect(await runStorm(redis.port)).toEqual({ builds: 1, ready: 1, ...calm })
    } finally {
      await redis.stop()
    }
  })

  test('and no lease in common: one build ends ready, and nobody is left without it', PATIENCE, async () => {
    expect(await runStorm('none')).toMatchObject({ ready: 1, ...calm })
  })
})

test.skipIf(isShort)(
  'heads that move faster than a build takes are all built, and current follows them',
  PATIENCE,
  async () => {
    expect(await runHeads(8, 'shared')).toMatchObject({
      lost: 0,
      superseded: 0,
      wentBack: 0,
      endsOnNewest: true,
      fallbacks: 0,
      unhandled: 0,
    })
  },
)

test('starts with random faults all end with one sandbox each', PATIENCE, async () => {
  expect(await runFaults(150, 7)).toMatchObject({ started: 150, wedged: 0, duplicates: 0, unhandled: 0, left: 0 })
})
