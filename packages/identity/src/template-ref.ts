import { IdentityError, type IdentityErrorCode } from './identity-error.ts'
import { LIMITS } from './limits.ts'

/** A template reference in its parts, each already in the form E2B stores. */
export interface TemplateRef {
  /** The team's slug, where the ref names one. */
  readonly namespace: string | undefined
  readonly name: string
  /** `undefined` where the ref names none; E2B then reads `default`. */
  readonly tag: string | undefined
}

const namePart = /^[a-z0-9_-]+$/
const tagPart = /^[a-z0-9_.-]+$/
const asciiWhitespaceAround = /^[\t\n\v\f\r ]+|[\t\n\v\f\r ]+$/g
const asciiOnly = /^[\0-\x7f]*$/
/** The two spellings of a UUID that E2B reads as one and that its tag grammar could hold. */
const uuid = /^(?:[0-9a-f]{32}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/

/**
 * Splits `[namespace/]name[:tag]` as E2B does: at the first `:`, then at the first `/`; every part is trimmed and
 * lower-cased.
 *
 * @throws IdentityError `REF_INVALID` for more parts, `NAME_INVALID` or `TAG_INVALID` for an empty, overlong or
 * ill-formed part, and for a tag shaped like a UUID, which E2B takes for a build id.
 */
export function parseTemplateRef(ref: string): TemplateRef {
  if (typeof ref !== 'string') {
    throw new IdentityError({ code: 'INPUT_TYPE', field: 'ref', message: 'ref must be a string' })
  }
  const colon = ref.indexOf(':')
  const tag = colon === -1 ? undefined : ref.slice(colon + 1)
  const path = colon === -1 ? ref : ref.slice(0, colon)
  const slash = path.indexOf('/')
  if (path.indexOf('/', slash + 1) !== -1 && slash !== -1) {
    throw new IdentityError({
      code: 'REF_INVALID',
      field: 'ref',
      message: 'ref has more than one slash',
      hint: 'Write [namespace/]name[:tag].',
    })
  }
  return Object.freeze({
    namespace: slash === -1 ? undefined : assertName(path.slice(0, slash), 'namespace'),
    name: assertName(path.slice(slash + 1), 'name'),
    tag: tag === undefined ? undefined : assertTag(tag),
  })
}

/**
 * Writes a ref from its parts, in the form E2B stores.
 *
 * @throws IdentityError as {@link parseTemplateRef} does.
 */
export function formatTemplateRef(ref: TemplateRef): string {
  const namespace = ref.namespace === undefined ? '' : `${assertName(ref.namespace, 'namespace')}/`
  const tag = ref.tag === undefined ? '' : `:${assertTag(ref.tag)}`
  return `${namespace}${assertName(ref.name, 'name')}${tag}`
}

/**
 * A tag as E2B stores it: trimmed and lower-cased.
 *
 * @throws IdentityError `TAG_INVALID` unless it consists of `a-z 0-9 - _ .`, is at most 128 long and is not shaped like
 * a UUID (32 hex digits, with or without dashes).
 */
export function assertTag(tag: string): string {
  const folded = foldPart(tag, 'tag', 'TAG_INVALID', tagPart, 'a-z 0-9 - _ .')
  if (uuid.test(folded)) {
    throw new IdentityError({
      code: 'TAG_INVALID',
      field: 'tag',
      message: 'tag is shaped like a UUID, which E2B reads as a build id',
      hint: 'Put a word before it, such as sha-.',
    })
  }
  return folded
}

/** A namespace or name as E2B stores it. */
export const assertName = (value: string, field: string): string =>
  foldPart(value, field, 'NAME_INVALID', namePart, 'a-z 0-9 - _')

const foldPart = (
  value: unknown,
  field: string,
  code: IdentityErrorCode,
  grammar: RegExp,
  characters: string,
): string => {
  if (typeof value !== 'string') {
    throw new IdentityError({ code: 'INPUT_TYPE', field, message: `${field} must be a string` })
  }
  if (value.length > LIMITS.refPart) {
    throw new IdentityError({
      code,
      field,
      message: `${field} has ${value.length} characters, more than the ${LIMITS.refPart} allowed`,
    })
  }
  // Some letters outside ASCII fold into ASCII ones; they are refused before they can.
  const folded = asciiOnly.test(value) ? value.replace(asciiWhitespaceAround, '').toLowerCase() : ''
  if (!grammar.test(folded)) {
    throw new IdentityError({
      code,
      field,
      message: `${field} is ${value === '' ? 'empty' : 'not one E2B accepts'}`,
      hint: `Allowed are ${characters}, at least one of them.`,
    })
  }
  return folded
}
