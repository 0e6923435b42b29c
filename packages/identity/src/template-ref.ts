import { type IdentityErrorCode, refuse } from './identity-error.ts'
import { bounded, nothingElse, record } from './input.ts'
import { REF_PART_LENGTH } from './limits.ts'

/** A template reference in its parts, each already in the form E2B stores. */
export interface TemplateRef {
  /** The team's slug, where the ref names one. */
  readonly namespace: string | undefined
  readonly name: string
  /** `undefined` where the ref names none; E2B then reads `default`. */
  readonly tag: string | undefined
}

/**
 * Splits `[namespace/]name[:tag]` as E2B does: at the first `:`, then at the first `/`; every part is trimmed and
 * lower-cased.
 *
 * @throws IdentityError `REF_INVALID` for a second slash, `NAME_INVALID` or `TAG_INVALID` for an empty, overlong or
 * ill-formed part, and for a tag shaped like a UUID, which E2B takes for a build id.
 */
export function parseTemplateRef(ref: string): TemplateRef {
  return Object.freeze(readRef(ref, 'ref'))
}

const readRef = (ref: unknown, field: string): TemplateRef => {
  const [path, tag] = cut(bounded(ref, field), ':')
  const [first, second] = cut(path, '/')
  if (second?.includes('/')) refuse('REF_INVALID', field, 'has two slashes', 'Write it like namespace/name:tag.')
  return {
    namespace: second === undefined ? second : foldName(first, field),
    name: foldName(second ?? first, field),
    tag: tag === undefined ? tag : foldTag(tag, field),
  }
}

const cut = (text: string, separator: string): readonly [before: string, after: string | undefined] => {
  const at = text.indexOf(separator)
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)]
}

/**
 * Writes a ref from its parts, in the form E2B stores.
 *
 * @throws IdentityError as {@link parseTemplateRef} does.
 */
export function formatTemplateRef(ref: TemplateRef): string {
  record(ref, 'ref')
  const { namespace, name, tag, ...rest } = ref
  nothingElse(rest, 'ref')
  return join({
    namespace: namespace === undefined ? namespace : foldName(namespace, 'namespace'),
    name: foldName(name, 'name'),
    tag: tag === undefined ? tag : foldTag(tag, 'tag'),
  })
}

/** The one spelling of a ref that came in as the input `field`. */
export const normalizeRef = (ref: unknown, field: string): string => join(readRef(ref, field))

const join = ({ namespace, name, tag }: TemplateRef): string =>
  (namespace === undefined ? '' : `${namespace}/`) + name + (tag === undefined ? '' : `:${tag}`)

/**
 * A tag as E2B stores it: trimmed and lower-cased.
 *
 * @throws IdentityError `TAG_INVALID` unless it consists of `a-z 0-9 - _ .`, is at most 128 long and is not shaped like
 * a UUID (32 hex digits, with or without dashes).
 */
export function assertTag(tag: string): string {
  return foldTag(tag, 'tag')
}

/** A name as E2B stores it. */
export const foldName = (name: unknown, field: string, limit: number = REF_PART_LENGTH): string =>
  fold(name, field, 'NAME_INVALID', /^[a-z0-9_-]+$/, limit)

const foldTag = (tag: unknown, field: string): string =>
  // Of what E2B reads as a UUID, and so as a build id, these two spellings fit into the tag grammar.
  fold(
    tag,
    field,
    'TAG_INVALID',
    /^(?!(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$)[a-z0-9_.-]+$/,
    REF_PART_LENGTH,
  )

const fold = (value: unknown, field: string, code: IdentityErrorCode, grammar: RegExp, limit: number): string => {
  const given = bounded(value, field)
  // Bounded before it is trimmed; and some letters outside ASCII would fold into ASCII ones.
  const folded = given.length > limit || /[^\0-\x7f]/.test(given) ? '' : given.trim().toLowerCase()
  if (!grammar.test(folded)) {
    refuse(code, field, 'is not one E2B accepts', `Use 1 to ${limit} of a-z 0-9 - _, in tags also . but no UUID.`)
  }
  return folded
}
