import { EmulatorError } from './errors.ts'

/** Where the emulator gets time from. Inject one to decide in a test when sandboxes expire and retries happen. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Calls back once after `ms` milliseconds of this clock; the returned function cancels. */
  schedule(callback: () => void, ms: number): () => void
}

/** A clock that moves only when told to. */
export interface ManualClock extends Clock {
  /** Moves time forward and runs what falls due, in order of due time. `ms`: finite, 0 or more, else `INVALID_OPTION`. */
  advance(ms: number): void
}

/** The longest delay a Node timer can hold; longer ones would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Wall time. Its timers never keep a process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  schedule(callback, ms) {
    const timer = setTimeout(callback, Math.min(ms, MAX_TIMER_MS))
    timer.unref()
    return () => clearTimeout(timer)
  },
}

/**
 * A clock for tests: time stands still until {@link ManualClock.advance}. `start` is in milliseconds since the epoch;
 * one that is no date is an `INVALID_OPTION`.
 */
export function createManualClock(start = Date.UTC(2026, 0, 1)): ManualClock {
  if (typeof start !== 'number' || Number.isNaN(new Date(start).getTime()))
    throw new EmulatorError('INVALID_OPTION', `start must be milliseconds since the epoch, not ${String(start)}`)
  let now = start
  let pending: { readonly due: number; readonly callback: () => void }[] = []
  return {
    now: () => now,
    schedule(callback, ms) {
      const timer = { due: now + ms, callback }
      pending.push(timer)
      return () => {
        pending = pending.filter((candidate) => candidate !== timer)
      }
    },
    advance(ms) {
      if (typeof ms !== 'number' || !Number.isFinite(ms) || ms < 0)
        throw new EmulatorError(
          'INVALID_OPTION',
          `ms must be a finite number, 0 or more, to advance by, not ${String(ms)}`,
        )
      const end = now + ms
      for (;;) {
        const next = pending.filter(({ due }) => due <= end).toSorted((left, right) => left.due - right.due)[0]
        if (next === undefined) break
        pending = pending.filter((candidate) => candidate !== next)
        now = Math.max(now, next.due)
        next.callback()
      }
      now = end
    },
  }
}

/** Whether time can be moved by hand. */
export const isManualClock = (clock: Clock): clock is ManualClock => 'advance' in clock

/** Resolves after `ms` of the clock, or early once the signal aborts; leaves no timer or listener either way. */
export function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) {
      resolve()
      return
    }
    const done = () => {
      cancel()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const cancel = clock.schedule(done, ms)
    signal?.addEventListener('abort', done, { once: true })
  })
}
