/** What making sure of a build came to. */
export interface FlightResult {
  /** `joined`: somebody else's build was awaited, or found ready. */
  readonly how: 'built' | 'joined'
  /** The build that a build made here goes on from; undefined for one from nothing. */
  readonly parent: string | undefined
  /** The build's tags are being moved; resolves with what kept them where they were, and never rejects. */
  readonly advancing: Promise<unknown>
}

/** One running piece of work with everybody who waits for it. */
export interface Flight {
  readonly work: Promise<FlightResult>
  /** Stops the work; called when the last waiter leaves. */
  readonly controller: AbortController
  waiters: number
}

/** A build that failed and is not tried again before `until`. */
export interface RememberedFailure {
  readonly code: string
  readonly message: string
  /** How often in a row. */
  readonly count: number
  /** On the clock of the resolution that saw it fail. */
  readonly until: number
}

/** Who holds a lease of this process, and until when on its own clock. */
export interface HeldLease {
  readonly holder: string
  readonly until: number
}

/** Step failures of one template name that resemble each other. */
export interface CacheSuspicion {
  /** What they have in common. */
  readonly failure: string
  /** How many builds in a row failed so after layers were taken from the cache. */
  readonly count: number
  /** A build without the cache failed so too: the cache is not to blame. */
  readonly isCleared: boolean
}

/** What all copies of this package in a process share, so that ESM and CJS builds do not build one ref twice. */
export interface ProcessState {
  readonly flights: Map<string, Flight>
  readonly failures: Map<string, RememberedFailure>
  readonly leases: Map<string, HeldLease>
  readonly suspicions: Map<string, CacheSuspicion>
  readonly background: Set<Promise<void>>
  /** Builds that were requested here and never started, as `scope\nid`. Nobody else starts them, so nobody waits for them. */
  readonly unstarted: Map<string, true>
}

/** The number changes whenever the shape does. */
const key = Symbol.for('warmbox.resolution.state.4')

const isProcessState = (value: unknown): value is ProcessState =>
  typeof value === 'object' && value !== null && 'flights' in value && 'failures' in value && 'leases' in value

/** The state of this process, made at the first use. */
export function processState(): ProcessState {
  const present: unknown = Reflect.get(globalThis, key)
  if (isProcessState(present)) return present
  const state: ProcessState = {
    flights: new Map(),
    failures: new Map(),
    leases: new Map(),
    suspicions: new Map(),
    background: new Set(),
    unstarted: new Map(),
  }
  Object.defineProperty(globalThis, key, { value: state })
  return state
}
