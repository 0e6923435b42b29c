import { createHash, timingSafeEqual } from 'node:crypto'

/** Compares without telling by its duration where two texts differ. */
export function sameSecret(given: string, wanted: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(wanted))
}
