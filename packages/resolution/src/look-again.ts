import type { Clock } from './clock.ts'
import { isWorthAsking } from './code-classes.ts'
import { isResolutionError } from './errors.ts'

/** How often a question is asked before its failure counts. */
export const MOST_LOOKS = 3
const FIRST_PAUSE_MS = 1_000

/** How long is waited after the n-th failure in a row. Jitter keeps processes that failed together from going on together. */
export const pauseAfter = (failures: number, random: () => number): number =>
  FIRST_PAUSE_MS * 2 ** (failures - 1) * (0.5 + random())

/**
 * Asks the platform something that changes nothing, a few times where the answer says nothing about the question.
 * @throws what the last asking threw; the signal's reason when aborted
 */
export async function lookAgain<T>(
  ask: () => Promise<T>,
  { clock, random, signal }: { readonly clock: Clock; readonly random: () => number; readonly signal: AbortSignal },
): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- asked again only after a failure
      return await ask()
    } catch (error) {
      signal.throwIfAborted()
      if (!isResolutionError(error) || !isWorthAsking(error.code) || failures >= MOST_LOOKS) throw error
    }
    // oxlint-disable-next-line no-await-in-loop
    await clock.sleep(pauseAfter(failures, random), signal)
  }
}
