import { setBounded } from './bounded-map.ts'
import type { ResolutionError } from './errors.ts'
import { processState, type RememberedFailure } from './process-state.ts'
import { isOfFiles } from './sdk-errors.ts'

const FIRST_BACKOFF_MS = 60_000
const LONGEST_BACKOFF_MS = 30 * 60_000
const MOST_REMEMBERED = 1_000

/** How long a ref is left alone after its build failed so; `undefined`: it may be tried again at once. */
function backoffMs(error: ResolutionError, count: number): number | undefined {
  const { code } = error
  // The same step of the same ref fails again; another ref, or an explicit refresh, is the way out.
  if (code === 'BUILD_STEP_FAILED' && !isOfFiles(error)) return Number.POSITIVE_INFINITY
  if (code !== 'BUILD_STEP_FAILED' && code !== 'BUILD_FAILED' && code !== 'PLATFORM') return undefined
  return Math.min(FIRST_BACKOFF_MS * 2 ** (count - 1), LONGEST_BACKOFF_MS)
}

/** The failure that keeps a ref from being built now. */
export function rememberedFailure(key: string, now: number): RememberedFailure | undefined {
  const failure = processState().failures.get(key)
  return failure !== undefined && now < failure.until ? failure : undefined
}

export function rememberFailure(key: string, error: ResolutionError, now: number): void {
  const { failures } = processState()
  const count = (failures.get(key)?.count ?? 0) + 1
  const delay = backoffMs(error, count)
  if (delay === undefined) return
  setBounded(failures, key, { code: error.code, message: error.message, count, until: now + delay }, MOST_REMEMBERED)
}

export const forgetFailure = (key: string): void => {
  processState().failures.delete(key)
}

/**
 * Does the newest build of a ref, which failed, tell every process that it is too early for another one? A numbered
 * step fails again until the ref changes. A phase of the platform's own may work in a minute; when it failed is not
 * told, so the minute counts from the request. A build that names no place may just have been cancelled by another.
 */
export function isFreshFailure({ code, step }: ResolutionError, requestedAt: number, now: number): boolean {
  if (code === 'BUILD_STEP_FAILED') return true
  return step !== undefined && now - requestedAt < FIRST_BACKOFF_MS
}
