const marker = Symbol.for('warmbox.error')

export interface WarmboxErrorOptions<Code extends string> {
  /** Stable and machine-readable; decide on this, never on the message. */
  code: Code
  /** What was wrong, in one sentence. */
  message: string
  /** What to do or write instead. */
  hint?: string | undefined
  cause?: unknown
}

/**
 * Base of every error a Warmbox package throws. `code`, `hint` and `cause` stand apart from the message;
 * `toJSON` leaves the cause and the stack out, since both can quote values that must not travel.
 */
export class WarmboxError<Code extends string = string> extends Error {
  readonly code: Code
  readonly hint: string | undefined

  constructor(options: WarmboxErrorOptions<Code>) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause })
    // Literal, here and in every subclass: a minifier renames the class.
    this.name = 'WarmboxError'
    this.code = options.code
    this.hint = options.hint
    Object.defineProperty(this, marker, { value: true })
  }

  toJSON(): { name: string; code: Code; message: string; hint?: string | undefined } {
    const { name, code, message, hint } = this
    return { name, code, message, hint }
  }
}

/** True for any Warmbox error, also one made by another installed copy of these packages, where `instanceof` fails. */
export const isWarmboxError = (value: unknown): value is WarmboxError =>
  typeof value === 'object' && value !== null && marker in value
