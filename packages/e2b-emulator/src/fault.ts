import type { StreamCut } from './cut-stream.ts'

/** What goes wrong, as data. Faults are asked in order; the first that matches is taken. */
export interface Fault {
  readonly match: FaultMatch
  /** How many matching requests pass before it strikes. Default 0. */
  readonly skip?: number
  /** How often it strikes. Default 1. */
  readonly times?: number
  /**
   * How likely it strikes a request it could, above 0 and up to 1; one it spares is left to the faults after it. The
   * same requests in the same order are struck on each run with the same `seed` of the emulator. Default 1.
   */
  readonly probability?: number
  readonly effect: FaultEffect
}

/** Every given field must match. */
export interface FaultMatch {
  /** Upper case. Default: any. */
  readonly method?: string
  /** The whole path, or a pattern to be found in it. Default: any. */
  readonly path?: string | RegExp
  /** Default: all. */
  readonly plane?: Plane
}

/** The control plane, the daemon in sandboxes, or another port of one. */
export type Plane = 'control' | 'envd' | 'port'

export type FaultEffect =
  /** Answers in place of the emulator, in the platform's error shape. */
  | {
      readonly kind: 'answer'
      readonly status: number
      readonly message?: string
      readonly headers?: Readonly<Record<string, string>>
    }
  /** Answers as usual, later. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** Drops the connection: `before` the request takes effect, or `after`, so that only its answer is lost. Default `before`. */
  | { readonly kind: 'reset'; readonly when?: 'before' | 'after' }
  /**
   * Answers as usual and breaks the body off: after so many bytes, or after so many messages of a stream of the daemon
   * (of a command: its start, its output, its end). An answer that is shorter ends as usual.
   */
  | { readonly kind: 'drop-stream'; readonly after: StreamCut }
