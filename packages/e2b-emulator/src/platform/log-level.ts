import { badRequest } from './api-error.ts'
import type { Schemas } from './contract.ts'

const LEVELS: readonly Schemas['LogLevel'][] = ['debug', 'info', 'warn', 'error']

/** Passes entries of the level asked for and of those above it; all of them where none is asked for. */
export function atLeast(minimum: string | undefined): (entry: { readonly level: Schemas['LogLevel'] }) => boolean {
  if (minimum === undefined || minimum === '') return () => true
  const least = LEVELS.findIndex((level) => level === minimum)
  if (least === -1) {
    throw badRequest(`validation error: parameter "level" in query has an error: must be one of ${LEVELS.join(', ')}`)
  }
  return ({ level }) => LEVELS.indexOf(level) >= least
}
