/**
 * A map that every instance in this process shares. On a global symbol, so that the ESM and the CJS copy of this
 * package share it too.
 */
export function processWideMap<V>(name: string): Map<string, V> {
  const key = Symbol.for(`warmbox.sandbox.${name}`)
  const existing: unknown = Reflect.get(globalThis, key)
  if (existing instanceof Map) return existing
  const created = new Map<string, V>()
  Object.defineProperty(globalThis, key, { value: created })
  return created
}
