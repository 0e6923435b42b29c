/** Raised by {@link withDeadline} when the time is over. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError'
}

/**
 * Runs work under a signal that is aborted with the caller's reason, or with a {@link DeadlineError} after
 * `milliseconds`. Settles as soon as the signal is aborted, even where the work ignores it; no timer or listener stays.
 */
export const withDeadline = async <T>(
  milliseconds: number,
  caller: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  caller?.throwIfAborted()
  const controller = new AbortController()
  const forward = () => controller.abort(caller?.reason)
  caller?.addEventListener('abort', forward, { once: true })
  const timer = setTimeout(
    () => controller.abort(new DeadlineError(`no answer within ${milliseconds} ms`)),
    milliseconds,
  )
  try {
    return await abortable(work(controller.signal), controller.signal)
  } finally {
    clearTimeout(timer)
    caller?.removeEventListener('abort', forward)
  }
}

/** The promise, or the signal's reason as soon as it is aborted. What the promise does later is of no interest. */
export const abortable = async <T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> => {
  if (signal === undefined) return promise
  let reject: (reason: unknown) => void = () => undefined
  const aborted = new Promise<never>((_resolve, rejectPromise) => {
    reject = rejectPromise
  })
  const onAbort = () => reject(signal.reason)
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
    // Either may still reject with nobody waiting; the outcome above is the answer.
    promise.catch(() => undefined)
  }
}
