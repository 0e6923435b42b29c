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
export const abortable = <T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> => {
  if (signal === undefined) return promise
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
