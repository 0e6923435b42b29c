import { isWarmboxError } from '@warmbox/identity'
import type { ResolutionListener } from './events.ts'
import { processState } from './process-state.ts'

/**
 * Lets work go on after the session it came from was answered. Its failure becomes a warning event.
 * @returns a promise that ends with the work and never rejects.
 */
export function inBackground(work: Promise<unknown>, ref: string, emit: ResolutionListener): Promise<void> {
  const { background } = processState()
  const tracked = work.then(
    () => undefined,
    (error: unknown) => {
      const message = error instanceof Error ? error.message : String(error)
      emit({ type: 'warning', code: isWarmboxError(error) ? error.code : 'BACKGROUND_FAILED', message, ref })
    },
  )
  background.add(tracked)
  return tracked.finally(() => background.delete(tracked))
}

/** {@link inBackground}, with the promise handed to the host, so that it stays alive for the work. */
export function leaveRunning(
  work: Promise<unknown>,
  ref: string,
  emit: ResolutionListener,
  waitUntil: ((work: Promise<unknown>) => void) | undefined,
): void {
  const tracked = inBackground(work, ref, emit)
  try {
    waitUntil?.(tracked)
  } catch (error) {
    // The work goes on all the same; what is lost is the host's promise to stay alive for it.
    const why = error instanceof Error ? error.name : typeof error
    const message = `waitUntil threw (${why}), so the process may end before the background work does`
    emit({ type: 'warning', code: 'WAIT_UNTIL_FAILED', message, ref })
  }
}

/**
 * Waits for every background build and advance of this process, those that begin meanwhile included. Never rejects: how
 * each ended was told by its events. A process that simply ends leaves running builds to E2B and its tags to the next
 * resolution.
 */
export async function settleBackgroundBuilds(): Promise<void> {
  const { background } = processState()
  while (background.size > 0) await Promise.all(background)
}
