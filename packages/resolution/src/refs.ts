import { formatTemplateRef, isWarmboxError, parseTemplateRef } from '@warmbox/identity'
import { ResolutionError } from './errors.ts'

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
