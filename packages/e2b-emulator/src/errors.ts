export type EmulatorErrorCode =
  /** `runtime: 'unsafe-host'` was asked for by root. */
  | 'UNSAFE_AS_ROOT'
  /** `runtime: 'real'` or `'unsafe-host'` was asked for and this machine cannot do it. */
  | 'RUNTIME_UNAVAILABLE'
  /** The server could not listen: the port is taken, or this user may not use it. `cause` is the system's error. */
  | 'PORT_UNAVAILABLE'
  /** No directory can be made in the data directory. `cause` is the system's error. */
  | 'DATA_DIRECTORY_UNUSABLE'
  /** An option has a value it may not have. */
  | 'INVALID_OPTION'
  /** Time can be moved only with a manual clock. */
  | 'CLOCK_NOT_MANUAL'
  /** Nothing with that id or reference exists in this emulator. */
  | 'UNKNOWN_TARGET'
  /** The emulator was closed, and can only be looked back at. */
  | 'CLOSED'

/** What the emulator's own interface throws; over the wire it answers as the platform does. */
export class EmulatorError extends Error {
  readonly code: EmulatorErrorCode
  readonly hint: string | undefined

  constructor(code: EmulatorErrorCode, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.name = 'EmulatorError'
    this.code = code
    this.hint = options.hint
  }
}
