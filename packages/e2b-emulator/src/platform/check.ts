import { isRecord } from '../is-record.ts'
import { badRequest } from './api-error.ts'

/** Returns the value with its type known, or refuses the request with a 400 that names the field. */
export type Check<T> = (value: unknown, at: string) => T

const refuse = (at: string, problem: string): never => {
  throw badRequest(`validation error: request body has an error: ${at === '' ? 'the body' : `"${at}"`} ${problem}`)
}

const within = (at: string, key: string) => (at === '' ? key : `${at}/${key}`)

export const string: Check<string> = (value, at) => (typeof value === 'string' ? value : refuse(at, 'must be a string'))

export const boolean: Check<boolean> = (value, at) =>
  typeof value === 'boolean' ? value : refuse(at, 'must be a boolean')

export function integer(range: { minimum?: number; maximum?: number } = {}): Check<number> {
  const { minimum = -(2 ** 31), maximum = 2 ** 31 - 1 } = range
  return (value, at) => {
    if (typeof value !== 'number' || !Number.isInteger(value)) return refuse(at, 'must be an integer')
    if (value < minimum) return refuse(at, `number must be at least ${minimum}`)
    if (value > maximum) return refuse(at, `number must be at most ${maximum}`)
    return value
  }
}

export function arrayOf<T>(item: Check<T>): Check<T[]> {
  return (value, at) => {
    if (!Array.isArray(value)) return refuse(at, 'must be an array')
    return value.map((entry: unknown, index) => item(entry, within(at, String(index))))
  }
}

export function recordOf<T>(item: Check<T>): Check<Record<string, T>> {
  return (value, at) => {
    if (!isRecord(value)) return refuse(at, 'must be an object')
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, item(entry, within(at, key))]))
  }
}

/** A part of the contract that the emulator records but does not act on. */
export const anything: Check<unknown> = (value) => value

interface Optional<T> {
  readonly optional: Check<T>
}

export const optional = <T>(check: Check<T>): Optional<T> => ({ optional: check })

/** One check per key of the type, optional keys marked; so a field added to the contract must be added here. */
type Fields<T> = {
  readonly [K in keyof T]-?: undefined extends T[K] ? Optional<Exclude<T[K], undefined>> : Check<T[K]>
}

export function object<T extends object>(fields: Fields<T>): Check<T> {
  const checks: readonly [string, Check<unknown> | Optional<unknown>][] = Object.entries(fields)
  return (value, at) => {
    if (!isRecord(value)) return refuse(at, 'must be an object')
    const checked = checks.flatMap(([key, field]) => {
      const given = value[key]
      if (typeof field === 'function') {
        if (given === undefined) return refuse(within(at, key), 'property is missing')
        return [[key, field(given, within(at, key))] as const]
      }
      // The SDK leaves out what is not set; other clients write null, which the platform takes for the same.
      return given === undefined || given === null ? [] : [[key, field.optional(given, within(at, key))] as const]
    })
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `Fields<T>` demands a check per key of T, and each ran
    return Object.fromEntries(checked) as T
  }
}
