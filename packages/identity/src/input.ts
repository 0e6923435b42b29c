import { refuse } from './identity-error.ts'
import { ENTRIES } from './limits.ts'

const plainAscii = /^[\t\n\r\x20-\x7e]*$/
/** Every character of Unicode category Cc but tab, line feed and carriage return. */
const forbiddenControl = /[^\P{Cc}\t\n\r]/u
/** With the `u` flag a pair is one character, so this finds a half only. */
const unpairedSurrogate = /[\uD800-\uDFFF]/u

/** A string of at most `limit` characters: checked before anything looks at the characters. */
export const bounded = (value: unknown, field: string, limit = Infinity): string => {
  if (typeof value !== 'string') refuse('INPUT_TYPE', field, 'must be a string')
  if (value.length > limit) refuse('INPUT_TOO_LONG', field, `is longer than ${limit}`)
  return value
}

/** Text that can be written to a canonical text and read back as the same. */
export const text = (value: unknown, field: string, limit: number): string => {
  const given = bounded(value, field, limit)
  if (!plainAscii.test(given)) {
    if (forbiddenControl.test(given)) refuse('INPUT_CHARACTER', field, 'holds a control character')
    refuseHalves(given, field)
  }
  return given
}

/** Refuses half a surrogate pair: in UTF-8 all of them would become one replacement character. */
export const refuseHalves = (value: string, field: string): void => {
  if (unpairedSurrogate.test(value)) refuse('INPUT_CHARACTER', field, 'holds half a surrogate pair')
}

/** {@link text} that may not be empty. */
export const nonEmptyText = (value: unknown, field: string, limit: number): string =>
  text(value, field, limit) || refuse('INPUT_REQUIRED', field, 'must not be empty')

/** A plain object, all of whose content its own keys show: a Map, or what an object inherits, would be left out unseen. */
export const record = (value: unknown, field: string): Readonly<Record<string, unknown>> => {
  if (!isPlain(value)) refuse('INPUT_TYPE', field, 'must be a plain object')
  return value
}

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> => {
  if (Object(value) !== value) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  // Of any realm: what plain objects inherit from inherits from nothing.
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Refuses fields that are not read: an input left out of the name without a word would share a template that must differ. */
export const nothingElse = (rest: object, owner: string, path = '', hint?: string): void => {
  for (const key of Object.keys(rest)) {
    refuse('INPUT_UNKNOWN_FIELD', path + key.slice(0, 64), `is no field of ${owner}`, hint)
  }
}

/** A list of a bounded number of entries. */
export const list = (value: unknown, field: string): readonly unknown[] => {
  if (!Array.isArray(value)) refuse('INPUT_TYPE', field, 'must be a list')
  // A copy has no holes, which map would pass over.
  return [...fewEnough(value, field)]
}

const fewEnough = (entries: readonly unknown[], field: string): readonly unknown[] =>
  entries.length > ENTRIES ? refuse('INPUT_TOO_MANY', field, `has more than ${ENTRIES} entries`) : entries

/** A bounded number of entries in the one order that no locale decides: by the UTF-16 code units of their keys. */
export const sortedEntries = (value: unknown, field: string): readonly (readonly [key: string, value: unknown])[] => {
  const entries = Object.entries(record(value, field))
  fewEnough(entries, field)
  return entries.length > 1 ? entries.toSorted(([left], [right]) => byCodeUnit(left, right)) : entries
}

export const byCodeUnit = (left: string, right: string): number => (left < right ? -1 : 1)

/**
 * A full commit id, lower-cased: 40 hex digits, or 64 in a SHA-256 repository.
 *
 * @throws IdentityError `SHA_INVALID` for anything else, an abbreviation or an empty string included.
 */
export function assertSha(sha: string): string {
  if (typeof sha !== 'string' || !commit.test(sha)) {
    refuse('SHA_INVALID', 'sha', 'is not a full commit id', 'Pass 40 or 64 hex digits.')
  }
  return sha.toLowerCase()
}

const commit = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/i
