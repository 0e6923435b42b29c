import { SHA256 } from '@stablelib/sha256'
import { bounded, refuseHalves } from './input.ts'

/** Hex digits of the digest that a template name carries: 160 bits. */
export const NAME_DIGITS = 40
const CHUNK_BYTES = 4096

interface Tools {
  readonly encoder: TextEncoder
  readonly chunk: Uint8Array
  readonly hash: SHA256
}

/** Kept, since allocating them for each text would cost half as much again as hashing it. */
let tools: Tools | undefined

/**
 * SHA-256 of the text's UTF-8 bytes as 64 lower-case hex digits.
 *
 * @throws IdentityError `INPUT_TYPE` for anything but a string, `INPUT_CHARACTER` for half a surrogate pair, which has no UTF-8 form of its own.
 */
export function digestText(text: string): string {
  refuseHalves(bounded(text, 'text'), 'text')
  return digestOf(text)
}

const digestOf = (text: string): string => {
  tools ??= { encoder: new TextEncoder(), chunk: new Uint8Array(CHUNK_BYTES), hash: new SHA256() }
  const { encoder, chunk, hash } = tools
  for (let start = 0; start < text.length;) {
    const { read, written } = encoder.encodeInto(start > 0 ? text.slice(start) : text, chunk)
    hash.update(chunk, written)
    start += read
  }
  let hex = ''
  for (const byte of hash.digest()) hex += (byte + 0x100).toString(16).slice(1)
  // The text may hold secrets; they should not outlive this call here.
  chunk.fill(0)
  hash.clean()
  return hex
}

/** The part of the digest that stands in a template's name. All that a canonical text holds was checked before. */
export const nameHash = (canonicalText: string): string => digestOf(canonicalText).slice(0, NAME_DIGITS)
