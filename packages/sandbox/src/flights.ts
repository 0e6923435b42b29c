import { processWideMap } from './process-wide.ts'

/** How the one start of a logical id ended for those who waited on it. */
export type Landing =
  | { readonly kind: 'sandbox'; readonly sandboxId: string }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** It was aborted: whoever waited has to start anew. */
  | { readonly kind: 'abandoned' }

/** The right to acquire the sandbox of a logical id. Must be landed exactly once; later landings are ignored. */
export interface Flight {
  land(landing: Landing): void
}

/** Either the right itself, or the outcome of whoever holds it. */
export type Seat =
  | { readonly role: 'pilot'; readonly flight: Flight }
  | { readonly role: 'passenger'; readonly landed: Promise<Landing> }

const registry = (): Map<string, Promise<Landing>> => processWideMap('flights')

const ignore = (): void => undefined

/** Lets one start per key run in this process; everyone else waits for its outcome. */
export function takeSeat(key: string): Seat {
  const flights = registry()
  const underway = flights.get(key)
  if (underway !== undefined) return { role: 'passenger', landed: underway }
  let resolve: (landing: Landing) => void = ignore
  const promise = new Promise<Landing>((settle) => {
    resolve = settle
  })
  flights.set(key, promise)
  return {
    role: 'pilot',
    flight: {
      land: (landing) => {
        if (flights.get(key) === promise) flights.delete(key)
        resolve(landing)
      },
    },
  }
}
