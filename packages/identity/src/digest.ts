import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import { assertWellFormed } from './text.ts'

/** Hex digits of the digest that a template name carries: 160 bits. */
export const NAME_DIGITS = 40
const CHUNK_BYTES = 4096

/**
 * SHA-256 of the text's UTF-8 bytes as 64 lower-case hex digits.
 *
 * @throws IdentityError `INPUT_CHARACTER` for half a surrogate pair, which has no UTF-8 form of its own.
 */
export function digestText(text: string): string {
  assertWellFormed(text, 'text')
  return bytesToHex(digest(text))
}

/** The part of the digest that stands in a template's name. */
export const nameHash = (canonicalText: string): string => bytesToHex(digest(canonicalText)).slice(0, NAME_DIGITS)

interface Utf8 {
  readonly encoder: TextEncoder
  readonly chunk: Uint8Array
}

let utf8: Utf8 | undefined

/** Encodes into one kept chunk: allocating an array for each text would cost half as much again as hashing it. */
const digest = (text: string): Uint8Array => {
  utf8 ??= { encoder: new TextEncoder(), chunk: new Uint8Array(CHUNK_BYTES) }
  const { encoder, chunk } = utf8
  const hash = sha256.create()
  for (let start = 0; start < text.length;) {
    const { read, written } = encoder.encodeInto(start === 0 ? text : text.slice(start), chunk)
    hash.update(chunk.subarray(0, written))
    start += read
  }
  // The text may hold secrets; they should not outlive this call here.
  chunk.fill(0)
  return hash.digest()
}
