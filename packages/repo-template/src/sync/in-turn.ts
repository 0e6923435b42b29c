import { abortable } from '../deadline.ts'
import type { SyncableSandbox } from './sandbox.ts'

const lastOf = new WeakMap<SyncableSandbox, Promise<void>>()

/**
 * Syncs of one sandbox come one after the other, so that the second finds what the first has done. Waiting ends with the
 * signal; what it waits for is bounded by its own limits.
 */
export const inTurn = async <T>(
  sandbox: SyncableSandbox,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> => {
  const before = lastOf.get(sandbox) ?? Promise.resolve()
  const started = abortable(before, signal).then(work)
  // Whoever is next waits for the one before too, also where this one gave up on that.
  lastOf.set(
    sandbox,
    Promise.allSettled([before, started]).then(() => undefined),
  )
  return started
}
