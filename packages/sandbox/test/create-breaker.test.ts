import { BREAKER_LIMIT, BREAKER_WINDOW_MS } from '@warmbox/sandbox'
import { describe, expect, test } from 'vitest'
import { failure, type FakeE2B, platform, sandboxOf } from './support/index.ts'

/** A clock that only moves by hand. */
const manual = () => {
  let now = 1_000_000
  return {
    clock: { now: () => now, sleep: () => Promise.resolve() },
    advance: (ms: number) => {
      now += ms
    },
  }
}

const creates = (e2b: FakeE2B): number => e2b.paths('POST').filter((path) => path === '/v2/sandboxes').length

/** Every sandbox is gone by the time its command is to start. */
const dying = (): FakeE2B => {
  const e2b = platform()
  e2b.faults.push(({ path }) => {
    if (path === '/process.Process/Start') e2b.sandboxes.clear()
    return undefined
  })
  return e2b
}

describe('sandboxes that die right after their start', () => {
  test('are replaced a few times, and then no more for a while', async () => {
    const e2b = dying()
    const { clock, advance } = manual()
    const sandbox = sandboxOf({ id: 'session-1', clock })
    const codes: unknown[] = []
    for (let call = 0; call < 2 * BREAKER_LIMIT; call += 1) {
      const error = await failure(sandbox.executeCommand('true'))
      codes.push(error instanceof Error && 'code' in error ? error.code : error)
    }

    expect(creates(e2b)).toBe(BREAKER_LIMIT)
    expect(codes.at(-1)).toBe('CREATE_STORM')

    advance(BREAKER_WINDOW_MS - 1)
    expect(await failure(sandbox.start())).toMatchObject({
      code: 'CREATE_STORM',
      hint: expect.stringContaining('in 1 s'),
    })
    advance(1)
    await sandbox.start()
    expect(creates(e2b)).toBe(BREAKER_LIMIT + 1)
  })

  test('count together whoever started them, and not for another id', async () => {
    const e2b = dying()
    const { clock } = manual()
    for (let call = 0; call < BREAKER_LIMIT; call += 1) {
      await sandboxOf({ id: 'session-1', clock }).start()
      e2b.sandboxes.clear()
    }

    expect(await failure(sandboxOf({ id: 'session-1', clock }).start())).toMatchObject({ code: 'CREATE_STORM' })
    await sandboxOf({ id: 'session-2', clock }).start()
    expect(creates(e2b)).toBe(BREAKER_LIMIT + 1)
  })

  test('do not count where they were destroyed on purpose', async () => {
    const e2b = platform()
    const { clock } = manual()
    for (let call = 0; call < 2 * BREAKER_LIMIT; call += 1) {
      const sandbox = sandboxOf({ id: 'session-1', clock })
      await sandbox.start()
      await sandbox._destroy()
    }

    expect(creates(e2b)).toBe(2 * BREAKER_LIMIT)
  })
})
