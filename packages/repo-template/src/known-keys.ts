import { findUnknownName } from '@warmbox/resolution'
import { RepoTemplateError } from './errors.ts'

/**
 * Refuses keys nobody reads. A misspelt `setupComand` would otherwise build an image without its setup and give it
 * the name of the image that never had one.
 */
export const assertKnownKeys = (value: object, known: readonly string[], what: string): void => {
  const unknown = findUnknownName(value, known)
  if (unknown === undefined) return
  throw new RepoTemplateError({
    code: 'OPTION_UNKNOWN',
    field: unknown.name,
    message: `${what} has no option '${unknown.name}'`,
    hint: unknown.hint,
  })
}
