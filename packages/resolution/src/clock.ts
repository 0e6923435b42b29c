/** Where time comes from; tests pass one they move by hand. */
export interface Clock {
  /** Milliseconds since the epoch; compared with the times the platform gives. */
  now(): number
  /** Resolves after the delay; rejects with the signal's reason, and leaves no timer or listener, when aborted. */
  sleep(delayMs: number, signal: AbortSignal): Promise<void>
}

/** Clock of the machine. Its timers keep the process alive only while someone waits on them. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (delayMs, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason)
        return
      }
      const onAbort = (): void => {
        clearTimeout(timer)
        reject(signal.reason)
      }
      const timer = setTimeout(() => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      }, delayMs)
      signal.addEventListener('abort', onAbort, { once: true })
    }),
}
