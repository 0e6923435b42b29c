/** On a global symbol, so that the ESM and the CJS copy of this package share it. */
const registryKey = Symbol.for('warmbox.sandbox.suspects')

const registry = (): Set<string> => {
  const existing: unknown = Reflect.get(globalThis, registryKey)
  if (existing instanceof Set) return existing
  const created = new Set<string>()
  Object.defineProperty(globalThis, registryKey, { value: created })
  return created
}

/**
 * Notes that a create from this ref failed on the platform's side. A build can be listed as ready although its files
 * are lost, and then every create from it fails so.
 * @returns true from the second failure without a success in between on: the ref counts as unusable
 */
export function suspect(key: string): boolean {
  const suspects = registry()
  if (suspects.has(key)) return true
  suspects.add(key)
  return false
}

/** A sandbox was created from this ref. */
export const exonerate = (key: string): void => void registry().delete(key)
