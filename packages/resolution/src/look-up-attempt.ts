import type { BootDiagnosis } from './classify.ts'
import type { Clock } from './clock.ts'

type Ambiguity = Extract<BootDiagnosis, { kind: 'ambiguous' }>['how']

/** The platform has answered, so what it made is there, or is just being recorded. */
const AFTER_ANSWER = [0, 1_000]
/**
 * E2B works on a create for up to 70 s and the SDK waits 60 s, so after a silent failure a sandbox may appear up to ten
 * seconds later.
 */
const AFTER_SILENCE = [0, 2_000, 4_000, 8_000]

/** How long each look waits after the one before it, in milliseconds. */
export const lookupDelays = (how: Ambiguity): readonly number[] => (how === 'answered' ? AFTER_ANSWER : AFTER_SILENCE)

/**
 * Looks for what came of a create that failed ambiguously, a few times. A look that fails is followed by the next; only
 * the last one decides.
 * @returns undefined where nothing came of it
 * @throws what the last look threw, or the signal's reason: whether a sandbox exists is then not known
 */
export async function lookUpAttempt<T>(
  find: (signal: AbortSignal) => Promise<T | undefined>,
  how: Ambiguity,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<T | undefined> {
  const delays = lookupDelays(how)
  for (const [look, delayMs] of delays.entries()) {
    signal.throwIfAborted()
    if (delayMs > 0) await clock.sleep(delayMs, signal)
    try {
      const found = await find(signal)
      if (found !== undefined) return found
    } catch (error) {
      signal.throwIfAborted()
      if (look === delays.length - 1) throw error
    }
  }
  return undefined
}
