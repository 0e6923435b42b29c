import { describe, expect, test } from 'vitest'
import { createManualClock } from '@warmbox/e2b-emulator'

const refused = expect.objectContaining({ name: 'EmulatorError', code: 'INVALID_OPTION' })

describe('the manual clock', () => {
  test.each([-1, Number.NaN, Infinity, '5', null])('does not advance by %j', (ms) => {
    const clock = createManualClock(1_000)
    const advance = (by: never) => clock.advance(by)
    expect(() => Reflect.apply(advance, undefined, [ms])).toThrow(refused)
    expect(clock.now()).toBe(1_000)
    clock.advance(0)
    clock.advance(5)
    expect(clock.now()).toBe(1_005)
  })

  test.each([Number.NaN, Infinity, 'x', null])('does not start at %j', (start) => {
    expect(() => Reflect.apply(createManualClock, undefined, [start])).toThrow(refused)
  })
})
