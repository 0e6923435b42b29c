import type { ResolutionListener } from './events.ts'
import { type Flight, type FlightResult, processState } from './process-state.ts'

export interface FlightContext {
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal
  /** Tells whoever launched it, and nobody else, until it ends. */
  readonly emit: ResolutionListener
}

/** Settles as the promise does, or rejects with the signal's reason; leaves no listener behind. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

function launch(
  key: string,
  work: (context: FlightContext) => Promise<FlightResult>,
  emit: ResolutionListener,
): Flight {
  const { flights } = processState()
  const controller = new AbortController()
  // Deferred by one turn, so that nothing of it happens before the caller waits for it.
  const running = Promise.resolve().then(() => work({ signal: controller.signal, emit }))
  const flight: Flight = { work: running, controller, waiters: 0 }
  flights.set(key, flight)
  // Each waiter handles the failure itself; once everybody has left nobody needs to know of it.
  running.catch(() => undefined)
  return flight
}

/** What is stopped may be in the middle of something it finishes first. */
function track(work: Promise<unknown>): void {
  const { background } = processState()
  const ended = work.then(
    () => undefined,
    () => undefined,
  )
  background.add(ended)
  void ended.finally(() => background.delete(ended))
}

/**
 * Runs work at most once at a time per key in this process and lets everybody who asks meanwhile wait for the same
 * result. Who aborts leaves alone; the work stops when the last one has left.
 *
 * What the work tells, it tells its launcher alone, also after that one has left: a build that several wait for is one
 * build, and its start and its end belong together. Everybody else is told `onJoin`, once.
 * @returns the result, and whether somebody else had launched the work.
 */
export async function shareFlight(
  key: string,
  work: (context: FlightContext) => Promise<FlightResult>,
  waiter: { readonly signal: AbortSignal; readonly listener: ResolutionListener; readonly onJoin: () => void },
): Promise<{ result: FlightResult; launchedHere: boolean }> {
  const { flights } = processState()
  waiter.signal.throwIfAborted()
  const present = flights.get(key)
  const flight = present ?? launch(key, work, waiter.listener)
  flight.waiters += 1
  if (present !== undefined) waiter.onJoin()
  try {
    return { result: await untilAborted(flight.work, waiter.signal), launchedHere: present === undefined }
  } finally {
    flight.waiters -= 1
    if (flight.waiters === 0 && flights.get(key) === flight) {
      flights.delete(key)
      flight.controller.abort(waiter.signal.reason)
      track(flight.work)
    }
  }
}
