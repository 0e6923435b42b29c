import {
  assertBoolean,
  assertGivenOptions,
  CONNECTION_OPTION_NAMES,
  findMisspeltName,
  findUnknownName,
} from '@warmbox/resolution'
import { RepoTemplateError } from './errors.ts'

/** @throws RepoTemplateError `OPTION_TYPE` for what is no object. */
export const assertObject = (value: unknown, field: string, what: string, example: string): void => {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return
  throw new RepoTemplateError({
    code: 'OPTION_TYPE',
    field,
    message: `${what} must be an object`,
    hint: `Write it like ${example}.`,
  })
}

/** @throws RepoTemplateError `OPTION_TYPE` for what could not be called, where something is given at all. */
export const assertFunction = (value: unknown, field: string, hint: string): void => {
  if (value === undefined || typeof value === 'function') return
  throw new RepoTemplateError({ code: 'OPTION_TYPE', field, message: `${field} must be a function or undefined`, hint })
}

/** Those this package calls. */
const signalMethods = ['addEventListener', 'removeEventListener', 'throwIfAborted'] as const

/** @throws RepoTemplateError `OPTION_TYPE` for a signal nobody could wait for: told late, it would pass for a failure. */
export const assertSignal = (value: unknown): void => {
  if (value === undefined) return
  if (typeof value === 'object' && value !== null) {
    if (signalMethods.every((name) => typeof Reflect.get(value, name) === 'function')) return
  }
  throw new RepoTemplateError({
    code: 'OPTION_TYPE',
    field: 'signal',
    message: 'signal is no AbortSignal',
    hint: 'Give the signal of an AbortController, or leave it out.',
  })
}

/**
 * Refuses keys nobody reads. A misspelt `setupComand` would otherwise build an image without its setup and give it
 * the name of the image that never had one.
 */
export const assertKnownKeys = (value: object, known: readonly string[], what: string): void =>
  refuseName(findUnknownName(value, known), what)

/** What of a connection goes to a resolution, or is called by this package. */
type Followed = {
  readonly [Name in 'signal' | 'onEvent' | 'buildTimeoutMs' | 'lease' | 'force']?: unknown
}

/**
 * Refuses a connection that is none, keys that resemble one of the SDK's or of `own`, and, in the words of a resolution,
 * what it would refuse later, when the repository's host has been asked already.
 *
 * @throws RepoTemplateError `OPTION_TYPE` or `OPTION_UNKNOWN`; ResolutionError `INVALID_SPEC`.
 */
export const assertConnection = (connection: object, own: readonly string[] = []): void => {
  assertObject(connection, 'connection', 'The connection', '{ apiKey }')
  refuseName(findMisspeltName(connection, [...own, ...CONNECTION_OPTION_NAMES]), 'A connection')
  const { signal, onEvent, buildTimeoutMs, lease, force }: Followed = connection
  assertGivenOptions({ signal, onEvent, buildTimeoutMs, lease })
  assertBoolean('force', force)
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
