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

interface Part {
  readonly what: string
  readonly code: IdentityErrorCode
  readonly grammar: RegExp
  readonly characters: string
  readonly limit: number
}

const namePart: Part = {
  what: 'name',
  code: 'NAME_INVALID',
  grammar: /^[a-z0-9_-]+$/,
  characters: 'a-z 0-9 - _',
  limit: LIMITS.refPart,
}
const namespacePart: Part = { ...namePart, what: 'namespace' }
const tagPart: Part = {
  what: 'tag',
  code: 'TAG_INVALID',
  grammar: /^[a-z0-9_.-]+$/,
  characters: 'a-z 0-9 - _ .',
  limit: LIMITS.refPart,
}

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
  return readRef(ref, 'ref')
}

/** {@link parseTemplateRef} for a ref that came in as the input `field`. */
export const readRef = (ref: unknown, field: string): TemplateRef => {
  if (typeof ref !== 'string') {
    throw new IdentityError({ code: 'INPUT_TYPE', field, message: `${field} must be a string` })
  }
  const [path, tag] = cut(ref, ':')
  const [first, second] = cut(path, '/')
  if (second?.includes('/')) {
    throw new IdentityError({
      code: 'REF_INVALID',
      field,
      message: `${field} has more than one slash`,
      hint: 'Write [namespace/]name[:tag].',
    })
  }
  return Object.freeze({
    namespace: second === undefined ? undefined : foldPart(namespacePart, first, field),
    name: foldPart(namePart, second ?? first, field),
    tag: tag === undefined ? undefined : foldTag(tag, field),
  })
}

const cut = (text: string, separator: string): readonly [before: string, after: string | undefined] => {
  const at = text.indexOf(separator)
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)]
}

/**
 * Writes a ref from its parts, in the form E2B stores.
 *
 * @throws IdentityError as {@link parseTemplateRef} does.
 */
export function formatTemplateRef(ref: TemplateRef): string {
  const namespace = ref.namespace === undefined ? '' : `${foldPart(namespacePart, ref.namespace, 'namespace')}/`
  const tag = ref.tag === undefined ? '' : `:${assertTag(ref.tag)}`
  return `${namespace}${foldPart(namePart, ref.name, 'name')}${tag}`
}

/**
 * A tag as E2B stores it: trimmed and lower-cased.
 *
 * @throws IdentityError `TAG_INVALID` unless it consists of `a-z 0-9 - _ .`, is at most 128 long and is not shaped like
 * a UUID (32 hex digits, with or without dashes).
 */
export function assertTag(tag: string): string {
  return foldTag(tag, 'tag')
}

/** What may stand before a name's hash: folded and checked like a name, and short enough to leave room for the hash. */
export const foldPrefix = (prefix: string, limit: number): string => foldPart({ ...namePart, limit }, prefix, 'prefix')

const foldTag = (tag: unknown, field: string): string => {
  const folded = foldPart(tagPart, tag, field)
  if (uuid.test(folded)) {
    throw new IdentityError({
      code: 'TAG_INVALID',
      field,
      message: `${field} has a tag shaped like a UUID, which E2B reads as a build id`,
      hint: 'Put a word before it, such as sha-.',
    })
  }
  return folded
}

const foldPart = (part: Part, value: unknown, field: string): string => {
  if (typeof value !== 'string') {
    throw new IdentityError({ code: 'INPUT_TYPE', field, message: `${field} must be a string` })
  }
  if (value.length > part.limit) {
    throw new IdentityError({
      code: part.code,
      field,
      message: `${field} has a ${part.what} of ${value.length} characters, more than the ${part.limit} allowed`,
    })
  }
  // Some letters outside ASCII fold into ASCII ones; they are refused before they can.
  const folded = asciiOnly.test(value) ? value.replace(asciiWhitespaceAround, '').toLowerCase() : ''
  if (!part.grammar.test(folded)) {
    throw new IdentityError({
      code: part.code,
      field,
      message: `${field} has ${value === '' ? `an empty ${part.what}` : `a ${part.what} E2B does not accept`}`,
      hint: `Allowed are ${part.characters}, at least one of them.`,
    })
  }
  return folded
}
