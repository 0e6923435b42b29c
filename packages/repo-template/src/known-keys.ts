import { CONNECTION_OPTION_NAMES, findMisspeltName, findUnknownName } from '@warmbox/resolution'
import { RepoTemplateError } from './errors.ts'

/** @throws RepoTemplateError `OPTION_TYPE` for what is no object. */
export const assertObject = (value: unknown, field: string, what: string): void => {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return
  throw new RepoTemplateError({ code: 'OPTION_TYPE', field, message: `${what} must be an object` })
}

/**
 * Refuses keys nobody reads. A misspelt `setupComand` would otherwise build an image without its setup and give it
 * the name of the image that never had one.
 */
export const assertKnownKeys = (value: object, known: readonly string[], what: string): void =>
  refuseName(findUnknownName(value, known), what)

/** Refuses a connection that is none, and keys that resemble one of the SDK's or of `own`. */
export const assertConnection = (connection: object, own: readonly string[] = []): void => {
  assertObject(connection, 'connection', 'The connection')
  refuseName(findMisspeltName(connection, [...own, ...CONNECTION_OPTION_NAMES]), 'A connection')
}

const refuseName = (unknown: { readonly name: string; readonly hint: string } | undefined, what: string): void => {
  if (unknown === undefined) return
  throw new RepoTemplateError({
    code: 'OPTION_UNKNOWN',
    field: unknown.name,
    message: `${what} has no option '${unknown.name}'`,
    hint: unknown.hint,
  })
}
