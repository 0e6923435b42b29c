import type { ResolutionListener } from './events.ts'
import { type Flight, type FlightResult, processState } from './process-state.ts'

export interface FlightContext {
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal
  /** Tells everybody who waits. */
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

function launch(key: string, work: (context: FlightContext) => Promise<FlightResult>): Flight {
  const { flights } = processState()
  const controller = new AbortController()
  const listeners = new Set<ResolutionListener>()
  const emit: ResolutionListener = (event) => {
    for (const listener of listeners) listener(event)
  }
  // Deferred by one turn, so that whoever launches it is already listening to its first event.
  const running = Promise.resolve().then(() => work({ signal: controller.signal, emit }))
  const flight: Flight = { work: running, listeners, controller, waiters: 0 }
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
 * result. Who aborts leaves alone; the work stops when the last one has left. `onJoin` is told that somebody else had
 * launched the work.
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
  const flight = present ?? launch(key, work)
  flight.waiters += 1
  flight.listeners.add(waiter.listener)
  if (present !== undefined) waiter.onJoin()
  try {
    return { result: await untilAborted(flight.work, waiter.signal), launchedHere: present === undefined }
  } finally {
    flight.waiters -= 1
    if (flight.waiters > 0) {
      flight.listeners.delete(waiter.listener)
    } else if (flights.get(key) === flight) {
      // The last one keeps listening, to hear how the work it stops comes to its end.
      flights.delete(key)
      flight.controller.abort(waiter.signal.reason)
      track(flight.work)
    }
  }
}
