import { IDENTITY_SCHEME } from './constants.ts'

/** What a canonical text describes; part of its first line, so that no two kinds ever share a text. */
export type CanonicalKind = 'repo' | 'mountable' | 'content'

/** A field of an identity with its value, or with several: a variable's name and what is known of its value. */
export type Line = readonly [field: string, ...values: string[]]

/**
 * Writes each value behind its length in UTF-8 bytes. The length, not the line feed, says where a value ends, so no value
 * can pass itself off as the start of another field.
 */
export const writeText = (kind: CanonicalKind, lines: readonly Line[]): string => {
  let text = `warmbox-identity ${IDENTITY_SCHEME} ${kind}\n`
  for (const line of lines) {
    text += line[0]
    for (let index = 1; index < line.length; index += 1) {
      const value = line[index] ?? ''
      text += ` ${utf8Length(value)}:${value}`
    }
    text += '\n'
  }
  return text
}

/** Bytes of well-formed text in UTF-8. */
const utf8Length = (text: string): number => {
  let length = text.length
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index)
    // A surrogate pair is two units and four bytes, so each half counts two.
    if (unit >= 0x80) length += unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 1 : 2
  }
  return length
}
