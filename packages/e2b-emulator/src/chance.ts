import { createHash, randomBytes } from 'node:crypto'

/** Numbers from 0 up to, not including, 1. */
export type Chance = () => number

/** The same numbers on each run with the same seed; without one they differ. */
export function createChance(seed?: string | number): Chance {
  const key = seed === undefined ? randomBytes(16).toString('hex') : String(seed)
  let count = 0
  return () => {
    count += 1
    const digest = createHash('sha256').update(`chance:${key}:${count}`).digest()
    return digest.readUInt32BE(0) / 2 ** 32
  }
}
