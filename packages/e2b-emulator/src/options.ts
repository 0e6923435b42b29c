import type { Clock } from './clock.ts'
import type { Fault } from './fault.ts'
import type { Limits } from './platform/platform.ts'
import type { Runtime } from './runtime/port.ts'

export type RuntimeChoice = 'real' | 'scripted' | 'auto' | 'unsafe-host' | Runtime

export interface EmulatorOptions {
  /**
   * What plays the virtual machines. `real`: processes in namespaces, or a typed error where the machine allows none.
   * `scripted`: answers from tables. `auto`: real where possible, else scripted, with the reason in `emulator.runtime`.
   * `unsafe-host`: plain processes of this user that nothing confines, for Linux machines without namespaces; as root a
   * typed error. Only ever used where it is named. Default `auto`.
   */
  readonly runtime?: RuntimeChoice
  /** Default: wall time. */
  readonly clock?: Clock
  /**
   * Makes a run repeatable: the same requests in the same order get the same identifiers and are struck by the same
   * faults. Secrets stay random. Default: none.
   */
  readonly seed?: string | number
  /** A source of distinct strings that identifiers are made of. Default: from the seed, random without one. Secrets never come from it. */
  readonly ids?: () => string
  /** The key clients must send. Default: a random one per emulator. */
  readonly apiKey?: string
  /**
   * Where directories for uploads and images are made, which the end of the emulator removes; this one stays. Default: the
   * system's directory for temporary files.
   */
  readonly dataDirectory?: string
  /** PEM certificates added to the CA bundle of the base image. Default: none. */
  readonly certificateAuthorities?: readonly string[]
  /** Faults in force from the start. Default: none. */
  readonly faults?: readonly Fault[]
  /** Milliseconds that every request takes at least. Default 0. */
  readonly latency?: number
  /** Namespace of the team's templates in `names`. Default `emulator`. */
  readonly team?: string
  /**
   * The envd that sandboxes run, such as `0.5.1`: the SDK asks for its abilities, and the daemon has no others.
   * Default: the newest known.
   */
  readonly envdVersion?: string
  /** Plan limits. Defaults: 20 builds and 100 sandboxes at once, sandboxes of 24 hours. */
  readonly limits?: Partial<Limits>
}
