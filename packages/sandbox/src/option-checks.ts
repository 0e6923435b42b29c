import { findUnknownName } from '@warmbox/resolution'
import { E2BSandboxError } from './errors.ts'
import type { E2BSandboxOptions } from './options.ts'

// What JavaScript callers get wrong unnoticed by a compiler. Values are never quoted: any may be a secret in the wrong place.

export function refuse(message: string, hint: string): never {
  throw new E2BSandboxError({ code: 'INVALID_OPTION', message, hint })
}

export function assertFunction(field: string, value: unknown): void {
  if (value === undefined || typeof value === 'function') return
  refuse(`${field} is not a function`, `Give a function as ${field}, or leave it out`)
}

export function assertBoolean(field: string, value: unknown): void {
  if (value === undefined || typeof value === 'boolean') return
  refuse(`${field} is neither true nor false`, `Give true or false as ${field}, or leave it out`)
}

export function assertString(field: string, value: unknown): void {
  if (value === undefined || typeof value === 'string') return
  refuse(`${field} is not a string`, `Give a string as ${field}, or leave it out`)
}

/** An object of named values. A list, a Map or a Date has none, and would be taken for an empty one. */
export function assertRecord(field: string, value: unknown): void {
  if (value === undefined || Object.prototype.toString.call(value) === '[object Object]') return
  refuse(`${field} is not an object`, `Give an object as ${field}, or leave it out`)
}

/** @param known all names of an option that is an object; another would be dropped without a word */
export function assertNamesIn(field: string, value: object | undefined, known: Readonly<Record<string, true>>): void {
  const unknown = value === undefined ? undefined : findUnknownName(value, Object.keys(known))
  if (unknown !== undefined) refuse(`${field} has no '${unknown.name}'`, unknown.hint)
}

export function assertMethods(field: string, value: unknown, methods: readonly string[]): void {
  if (value === undefined) return
  const missing = methods.filter((name) => !(isObject(value) && typeof Reflect.get(value, name) === 'function'))
  if (missing.length === 0) return
  refuse(`${field} has no method ${missing.join(', ')}`, `Give an object with ${methods.join(', ')}, or leave it out`)
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

const KNOWN: Readonly<Record<keyof E2BSandboxOptions, true>> = {
  id: true,
  sandboxId: true,
  template: true,
  timeout: true,
  env: true,
  metadata: true,
  network: true,
  lifecycle: true,
  domain: true,
  apiUrl: true,
  sandboxUrl: true,
  apiKey: true,
  accessToken: true,
  instructions: true,
  onEvent: true,
  buildTimeoutMs: true,
  waitUntil: true,
  strictTemplate: true,
  overlapLookup: true,
  lease: true,
  requestTimeoutMs: true,
  checkpointName: true,
  seedCheckpointName: true,
  clock: true,
  // Of the base class.
  onStart: true,
  onStop: true,
  onDestroy: true,
  workingDirectory: true,
}

/**
 * An option that nobody knows would be dropped without a word, such as a misspelled `strictTemplate`.
 * @throws E2BSandboxError `INVALID_OPTION`
 */
export function assertKnownNames(options: object): void {
  const unknown = findUnknownName(options, Object.keys(KNOWN))
  if (unknown !== undefined) refuse(`E2BSandbox has no option '${unknown.name}'`, unknown.hint)
}
