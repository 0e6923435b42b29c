import { quoteShell } from './shell.ts'

/** Removes secrets from text and errors before they leave the process. */
export interface Redactor {
  /** The text with every known form of every secret replaced by `***`. */
  readonly text: (value: string) => string
  /**
   * The same value when no secret is in it; otherwise a copy, of the same class, whose strings are redacted: message,
   * stack, own fields and the whole cause chain.
   */
  readonly error: (value: unknown) => unknown
}

/** Shorter values are no secrets, and replacing them would make the remaining text unreadable. */
const SHORTEST_SECRET = 4
/** Shorter pieces of a base64 text occur by chance. */
const SHORTEST_BASE64_CORE = 8
const MASK = '***'

const base64 = (bytes: Uint8Array): string => btoa(Array.from(bytes, (byte) => String.fromCodePoint(byte)).join(''))

/**
 * Base64 of a text that is part of a longer one (`user:<secret>`) depends on where it begins, modulo three bytes. The
 * three results without their edges, which neighbours influence, cover every position.
 */
function base64Cores(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret)
  return [0, 1, 2]
    .map((offset) => {
      const shifted = new Uint8Array(offset + bytes.length)
      shifted.set(bytes, offset)
      const first = Math.ceil((offset * 8) / 6)
      const last = Math.floor(((offset + bytes.length) * 8) / 6)
      return base64(shifted).slice(first, last)
    })
    .filter((core) => core.length >= SHORTEST_BASE64_CORE)
}

function formsOf(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret)
  const whole = base64(bytes)
  const basic = base64(new TextEncoder().encode(`x-access-token:${secret}`))
  const encoded = [whole, basic, ...base64Cores(secret)]
  return [
    secret,
    `x-access-token:${secret}`,
    // Decoding turns a lone surrogate, which has no URL form, into the replacement character.
    encodeURIComponent(new TextDecoder().decode(bytes)),
    JSON.stringify(secret).slice(1, -1),
    ...(secret.includes('\0') ? [] : [quoteShell(secret).slice(1, -1)]),
    // A log is relayed line by line, so a key of several lines never shows up whole.
    ...secret.split(/\r?\n/).filter((line) => line.trim().length >= SHORTEST_BASE64_CORE),
    ...encoded,
    ...encoded.map((text) => text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')),
  ]
}

/**
 * Makes a redactor for a set of secrets. Covered are the secret itself, its base64 at any position of a longer text
 * (so `x-access-token:<secret>` and every other `user:<secret>` too), both base64 alphabets, its URL, JSON and shell
 * forms, and each line of a secret with several lines. Values shorter than four characters are left alone.
 */
export function createRedactor(secrets: Iterable<string>): Redactor {
  const forms = new Set([...secrets].filter((secret) => secret.length >= SHORTEST_SECRET).flatMap(formsOf))
  if (forms.size === 0) {
    return { text: (value) => value, error: (value) => value }
  }
  // Longest first, so that a form which contains another is replaced whole.
  const alternatives = [...forms].toSorted((a, b) => b.length - a.length).map(escapeRegExp)
  const pattern = new RegExp(alternatives.join('|'), 'g')
  const text = (value: string): string => value.replace(pattern, MASK)
  return {
    text,
    error: (value) => (isTouched(value, text, new Set()) ? redactedCopy(value, text, new Map()) : value),
  }
}

const escapeRegExp = (value: string): string => value.replace(/[$()*+.?[\\\]^{|}/-]/g, '\\$&')

type RedactText = (value: string) => string

/** Only plain data and errors are looked into; anything else, such as a response, has its own ways of being printed. */
const isOpen = (value: unknown): value is object =>
  value instanceof Error || Array.isArray(value) || (typeof value === 'object' && value !== null && isPlain(value))

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** The fields of a DOMException live behind accessors of its class, out of reach of its own keys. */
const fieldsOf = (value: object): readonly PropertyKey[] =>
  value instanceof DOMException ? ['message', ...Reflect.ownKeys(value)] : Reflect.ownKeys(value)

/** Is a secret anywhere in it? `seen` ends cycles. */
function isTouched(value: unknown, text: RedactText, seen: Set<object>): boolean {
  if (typeof value === 'string') return text(value) !== value
  if (!isOpen(value) || seen.has(value)) return false
  seen.add(value)
  return fieldsOf(value).some((key) => isTouched(Reflect.get(value, key), text, seen))
}

/** `copies` holds the copy of each original, so that a cycle leads back into the copy and not out of it. */
function redactedCopy(value: unknown, text: RedactText, copies: Map<object, object>): unknown {
  if (typeof value === 'string') return text(value)
  if (!isOpen(value)) return value
  const made = copies.get(value)
  if (made !== undefined) return made
  const copy = emptyCopy(value, text)
  copies.set(value, copy)
  for (const key of Reflect.ownKeys(value)) {
    if (Array.isArray(value) && key === 'length') continue
    Object.defineProperty(copy, key, {
      value: redactedCopy(Reflect.get(value, key), text, copies),
      enumerable: Reflect.getOwnPropertyDescriptor(value, key)?.enumerable ?? false,
      writable: true,
      configurable: true,
    })
  }
  return copy
}

function emptyCopy(value: object, text: RedactText): object {
  if (value instanceof DOMException) return new DOMException(text(value.message), value.name)
  if (Array.isArray(value)) return []
  const copy: object = Object.create(Object.getPrototypeOf(value))
  return copy
}
