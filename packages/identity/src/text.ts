import { IdentityError } from './identity-error.ts'

const plainAscii = /^[\t\n\r\x20-\x7e]*$/

/** Type and length, before anything looks at the characters: whatever follows costs at most the limit. */
export const assertBounded: (value: unknown, field: string, limit: number) => asserts value is string = (
  value,
  field,
  limit,
) => {
  if (typeof value !== 'string') {
    throw new IdentityError({ code: 'INPUT_TYPE', field, message: `${field} must be a string` })
  }
  if (value.length > limit) {
    throw new IdentityError({
      code: 'INPUT_TOO_LONG',
      field,
      message: `${field} has ${value.length} characters, more than the ${limit} allowed`,
    })
  }
}

/**
 * Refuses what cannot be written to a canonical text and read back as the same thing: control characters other than
 * tab, line feed and carriage return, and unpaired surrogates, which UTF-8 would silently turn into one and the same
 * replacement character.
 */
export const assertText: (value: unknown, field: string, limit: number) => asserts value is string = (
  value,
  field,
  limit,
) => {
  assertBounded(value, field, limit)
  if (!plainAscii.test(value)) assertCharacters(value, field)
}

/** Every character of Unicode category Cc but tab, line feed and carriage return. */
const forbiddenControl = /[^\P{Cc}\t\n\r]/u

const assertCharacters = (value: string, field: string): void => {
  if (forbiddenControl.test(value)) {
    throw new IdentityError({
      code: 'INPUT_CHARACTER',
      field,
      message: `${field} contains ${value.includes('\0') ? 'a NUL character' : 'a control character'}`,
      hint: 'Only tab, line feed and carriage return are allowed of the control characters.',
    })
  }
  assertWellFormed(value, field)
}

const unpairedSurrogate = /[\uD800-\uDFFF]/u

/** Refuses half a surrogate pair: UTF-8 turns every one of them into the same replacement character. */
export const assertWellFormed = (value: string, field: string): void => {
  if (!unpairedSurrogate.test(value)) return
  throw new IdentityError({
    code: 'INPUT_CHARACTER',
    field,
    message: `${field} contains half of a surrogate pair`,
    hint: 'Pass well-formed Unicode text.',
  })
}

/** Bytes of well-formed text in UTF-8. */
export const utf8Length = (text: string): number => {
  let length = text.length
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index)
    // A surrogate pair is two units and four bytes, so each half counts two.
    if (unit >= 0x80) length += unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 1 : 2
  }
  return length
}

/** The one order that does not depend on a locale: by UTF-16 code unit. */
export const byCodeUnit = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0)

/** A record's own keys {@link byCodeUnit}. */
export const sortedKeys = (record: object): readonly string[] => Object.keys(record).toSorted(byCodeUnit)

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A plain record, or `undefined`, of at most `limit` entries. */
export const assertRecord: (
  value: unknown,
  field: string,
  limit?: number,
) => asserts value is Readonly<Record<string, unknown>> = (value, field, limit = Number.MAX_SAFE_INTEGER) => {
  if (!isRecord(value)) {
    throw new IdentityError({ code: 'INPUT_TYPE', field, message: `${field} must be an object` })
  }
  assertCount(Object.keys(value).length, field, limit)
}

/** Refuses more entries than allowed. */
export const assertCount = (count: number, field: string, limit: number): void => {
  if (count > limit) {
    throw new IdentityError({
      code: 'INPUT_TOO_MANY',
      field,
      message: `${field} has ${count} entries, more than the ${limit} allowed`,
    })
  }
}

/** Refuses fields outside `known`: an input that is silently left out of the name would share a template that must differ. */
export const assertKnownFields = (value: object, known: ReadonlySet<string>, what: string): void => {
  for (const key of Object.keys(value)) {
    if (!known.has(key)) {
      throw new IdentityError({
        code: 'INPUT_UNKNOWN_FIELD',
        field: key.slice(0, 64),
        message: `${what} has a field this version does not know`,
        hint: `Known fields: ${[...known].join(', ')}. Put inputs of your own into \`extra\`.`,
      })
    }
  }
}
