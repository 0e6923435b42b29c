import type { Clock } from './clock.ts'

export interface Deadline {
  readonly clock: Clock
  readonly delayMs: number
  /** Ends the wait as well, with its own reason. */
  readonly signal: AbortSignal
  /** What the wait ends with when the time is over. */
  readonly overdue: () => Error
}

/** Bounds a wait that ends when its signal does. No timer or listener stays, however it ends. */
export async function withinDeadline<T>(
  { clock, delayMs, signal, overdue }: Deadline,
  wait: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController()
  const done = new AbortController()
  const limit = async (): Promise<void> => {
    try {
      await clock.sleep(delayMs, done.signal)
    } catch {
      // The wait ended first, which is what the sleep was aborted for.
      return
    }
    over.abort(overdue())
  }
  const timer = limit()
  try {
    return await wait(AbortSignal.any([signal, over.signal]))
  } finally {
    done.abort()
    await timer
  }
}
