/** Sets an entry as the newest one and drops the oldest beyond `most`: refs carry commit ids, so old ones never come up again. */
export function setBounded<V>(map: Map<string, V>, key: string, value: V, most: number): void {
  map.delete(key)
  map.set(key, value)
  for (const oldest of map.keys()) {
    if (map.size <= most) return
    map.delete(oldest)
  }
}
