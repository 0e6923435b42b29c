/** What `work` settles with, or the signal's reason as soon as it aborts. Leaves no listener behind. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    // Rejections arriving after the abort are handled here too, so none is left floating.
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
