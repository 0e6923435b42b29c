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

/**
 * The same answer; its body breaks off with the signal's reason once that aborts. Leaves no listener behind.
 * `onOver` is called once nothing more is sent, however that came.
 */
export function cutOnAbort(answer: Response, signal: AbortSignal, onOver: () => void = () => {}): Response {
  const { body } = answer
  if (body === null) {
    onOver()
    return answer
  }
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader()
  const ended = new AbortController()
  const finish = () => {
    ended.abort()
    onOver()
  }
  const cut = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const breakOff = () => {
          controller.error(signal.reason)
          finish()
          // The reader is told why by the error; that the source may refuse to be cancelled concerns nobody.
          reader.cancel(signal.reason).catch(() => undefined)
        }
        if (signal.aborted) breakOff()
        else signal.addEventListener('abort', breakOff, { once: true, signal: ended.signal })
      },
      async pull(controller) {
        const chunk = await reader.read().catch((error: unknown) => {
          finish()
          throw error
        })
        if (ended.signal.aborted) return
        if (!chunk.done) {
          controller.enqueue(chunk.value)
          return
        }
        finish()
        controller.close()
      },
      async cancel(reason) {
        finish()
        await reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(cut, { status: answer.status, headers: answer.headers })
}
