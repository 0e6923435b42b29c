import { ResolutionError } from './errors.ts'
import { findMisspeltName, findUnknownName } from './known-names.ts'

// What JavaScript callers, and specs assembled from data, get wrong unnoticed by a compiler. Values are never quoted:
// any of them may be a secret in the wrong place.

/** @throws ResolutionError `INVALID_SPEC` */
export function refuseInput(message: string, hint: string): never {
  throw new ResolutionError({ code: 'INVALID_SPEC', message, hint })
}

/** @throws ResolutionError `INVALID_SPEC` unless it is a function or absent */
export function assertFunction(option: string, value: unknown): void {
  if (value === undefined || typeof value === 'function') return
  refuseInput(`${option} is not a function`, `Give a function as ${option}, or leave it out`)
}

/** @throws ResolutionError `INVALID_SPEC` unless it is a boolean or absent */
export function assertBoolean(option: string, value: unknown): void {
  if (value === undefined || typeof value === 'boolean') return
  refuseInput(`${option} is neither true nor false`, `Give true or false as ${option}, or leave it out`)
}

/** @throws ResolutionError `INVALID_SPEC` unless it is a list of strings or absent */
export function assertStrings(option: string, value: unknown): void {
  if (value === undefined) return
  // A copy has no holes, which every would pass over.
  if (Array.isArray(value) && [...value].every((entry) => typeof entry === 'string')) return
  refuseInput(`${option} is not a list of strings`, `Write it like ['...'], without entries that are undefined`)
}

/** Names of the methods of `T`, each of them: one that is forgotten does not compile. */
export type MethodsOf<T> = Readonly<
  Record<{ [Key in keyof T]: T[Key] extends (...given: never[]) => unknown ? Key : never }[keyof T], true>
>

/** @throws ResolutionError `INVALID_SPEC` unless it is an object with these methods */
export function assertMethods(
  option: string,
  value: unknown,
  methods: Readonly<Record<string, true>>,
  hint: string,
): void {
  const missing = Object.keys(methods).filter((name) => !hasMethod(value, name))
  if (missing.length === 0) return
  if (isObject(value)) refuseInput(`${option} has no method ${missing.join(', ')}`, hint)
  refuseInput(`${option} is not an object`, hint)
}

export const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** An object of named values; a list is none. */
export const isRecord = (value: unknown): value is object => isObject(value) && !Array.isArray(value)

/** An object written down as such, and not an instance of somebody's class, which has fields of its own. */
const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

/**
 * Refuses names that nobody reads.
 * @param isOpen whether others may add names of theirs: then only one that resembles a known name is refused
 * @throws ResolutionError `INVALID_SPEC`
 */
export function assertKnownNames(
  what: string,
  value: object,
  known: Readonly<Record<string, true>>,
  { isOpen }: { readonly isOpen: boolean },
): void {
  const names = Object.keys(known)
  const unknown = isOpen || !isPlain(value) ? findMisspeltName(value, names) : findUnknownName(value, names)
  if (unknown !== undefined) refuseInput(`'${unknown.name}' is no part of ${what}`, unknown.hint)
}

const hasMethod = (value: unknown, name: string): boolean =>
  isObject(value) && typeof Reflect.get(value, name) === 'function'

/** The names an object of {@link TemplateResources} has. */
const SIZES: ReadonlySet<string> = new Set(['cpuCount', 'memoryMB'])

/** The values themselves are identity's to check. @throws ResolutionError `INVALID_SPEC` */
export function assertResources(option: string, value: unknown): void {
  if (value === undefined) return
  const hint = 'Write it like { cpuCount: 2, memoryMB: 1024 }, or leave it out'
  if (!isRecord(value)) refuseInput(`${option}: is not an object`, hint)
  const unknown = Object.keys(value).find((name) => !SIZES.has(name))
  if (unknown !== undefined) refuseInput(`${option}: '${unknown}' is no part of a size`, hint)
}
