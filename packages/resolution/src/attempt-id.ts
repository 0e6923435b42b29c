/** Width of a millisecond timestamp in base 36; enough until the year 5188, and equal widths sort as text. */
const STAMP_WIDTH = 9

/**
 * A unique id of one create, to be stored with the sandbox: create is not idempotent, so what came of one that failed
 * ambiguously is found by it. It begins with the time it was made, in milliseconds since the epoch.
 */
export const createAttemptId = (nowMs: number): string =>
  `${nowMs.toString(36).padStart(STAMP_WIDTH, '0')}-${crypto.randomUUID()}`

/** When an attempt id was made, in milliseconds since the epoch; undefined for any other text. */
export function attemptTime(attemptId: string): number | undefined {
  const stamp = /^([0-9a-z]{9})-/.exec(attemptId)?.[1]
  return stamp === undefined ? undefined : Number.parseInt(stamp, 36)
}
