import { formatTemplateRef, isWarmboxError, parseTemplateRef } from '@warmbox/identity'
import { ResolutionError } from './errors.ts'
import { refuseInput } from './option-checks.ts'

/** The ref in normal form and with its tag written out: a bare name is asked as `name:default`, never as it stands. */
export function withTag(ref: string): string {
  const parsed = parseTemplateRef(ref)
  return formatTemplateRef({ ...parsed, tag: parsed.tag ?? 'default' })
}

/** A ref taken apart the way the tag endpoints want it: the name with its namespace, and the tag. */
export function splitRef(ref: string): { readonly name: string; readonly tag: string } {
  const parsed = parseTemplateRef(ref)
  return { name: formatTemplateRef({ ...parsed, tag: undefined }), tag: parsed.tag ?? 'default' }
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/**
 * A ref may name a build by its id in the tag's place, which is no tag by the grammar: there only the name is checked.
 * @throws ResolutionError `INVALID_SPEC`, naming the field.
 */
export function assertBootRef(field: string, ref: unknown): void {
  if (typeof ref !== 'string') refuseInput(`${field}: is not a string`, `Give a ref as ${field}, like 'name:tag'`)
  const colon = ref.indexOf(':')
  const isBuildId = colon !== -1 && UUID.test(ref.slice(colon + 1))
  checked(field, () => withTag(isBuildId ? ref.slice(0, colon) : ref))
}

/**
 * Runs a check of identity's and answers its complaint as one of a spec.
 * @throws ResolutionError `INVALID_SPEC`, naming the field.
 */
export function checked<T>(field: string, check: () => T): T {
  try {
    return check()
  } catch (error) {
    if (!isWarmboxError(error)) throw error
    throw new ResolutionError({
      code: 'INVALID_SPEC',
      message: `${field}: ${error.message}`,
      hint: error.hint ?? `Correct ${field}`,
      cause: error,
    })
  }
}
