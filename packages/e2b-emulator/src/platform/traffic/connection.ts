import type { Duplex } from 'node:stream'

/** A connection to a port of a sandbox. */
export interface PortConnection {
  readonly stream: Duplex
  /** The Host that the service inside is to see. */
  readonly host: string
  /** Aborted when the sandbox stops running: the connection is then to be dropped. */
  readonly signal: AbortSignal
}
