import { vi } from 'vitest'

/** Polls until the assertion holds; gives a busy machine time, and a broken program a clear failure. */
export function eventually<T>(assertion: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(assertion, { timeout: 60_000, interval: 10 })
}
