import { IDENTITY_SCHEME } from './constants.ts'
import { utf8Length } from './text.ts'

/** What a canonical text describes; part of its first line, so that no two kinds ever share a text. */
export type CanonicalKind = 'repo' | 'mountable' | 'content'

/** First line of a canonical text. */
export const header = (kind: CanonicalKind): string => `warmbox-identity ${IDENTITY_SCHEME} ${kind}\n`

const atom = (value: string): string => ` ${utf8Length(value)}:${value}`

/**
 * One line: the field's name, then each value behind its length in UTF-8 bytes. The length, not the line feed, says where
 * a value ends, so no value can pass itself off as the start of another field.
 */
export const line = (field: string, value: string): string => `${field}${atom(value)}\n`

/** A line of several values, such as a variable's name and what is known of its value. */
export const entryLine = (field: string, ...values: readonly string[]): string => {
  let text = field
  for (const value of values) text += atom(value)
  return `${text}\n`
}
