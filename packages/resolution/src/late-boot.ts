import { inBackground } from './background.ts'
import type { BootContext } from './boot-once.ts'
import { diagnoseBootError } from './classify.ts'
import type { BootPorts } from './options.ts'

/** A boot whose resolution was aborted before it came to an end. */
export interface LateBoot<T> {
  readonly ref: string
  readonly attemptId: string
  readonly booting: Promise<T>
  readonly ports: BootPorts<T>
}

/**
 * Discards what an aborted boot comes to, now that nobody waits for it: what arrives goes to `discard`, and what may have
 * come of a failure to `abandon`. It goes on in the background, and what it cannot see to becomes a warning.
 */
export function discardLate<T>(late: LateBoot<T>, { emit }: Pick<BootContext, 'emit'>, reason: unknown): void {
  const mayRemain = (why: string): void => {
    const message = `A create was aborted and a sandbox may be left: ${why}`
    emit({ type: 'warning', code: 'SANDBOX_MAY_REMAIN', message, ref: late.ref })
  }
  const seeTo = async (): Promise<void> => {
    let value: T
    try {
      value = await late.booting
    } catch (error) {
      if (!mayHaveMade(error, reason)) return
      if (late.ports.abandon === undefined) mayRemain(nameOf(error))
      else late.ports.abandon(late.attemptId, late.ref)
      return
    }
    try {
      await late.ports.discard?.(value)
    } catch (error) {
      mayRemain(`discard failed (${nameOf(error)})`)
    }
  }
  void inBackground(seeTo(), late.ref, emit)
}

/** A create that was itself cut off by the abort says nothing about what E2B made of it. */
const mayHaveMade = (error: unknown, reason: unknown): boolean =>
  error === reason ||
  (error instanceof Error && error.name === 'AbortError') ||
  diagnoseBootError(error).kind === 'ambiguous'

/** Of a foreign error only its name is told: its message may quote anything. */
const nameOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error)
