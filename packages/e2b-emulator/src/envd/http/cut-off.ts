/**
 * The same answer, whose body breaks off with the reason of `gone` once that is aborted: what a connection to a machine
 * that died looks like. `onCancel` is called when the client stops reading first.
 */
export function cutOff(answer: Response, gone: AbortSignal, onCancel: () => void): Response {
  if (answer.body === null) return answer
  const reader: ReadableStreamDefaultReader<Uint8Array> = answer.body.getReader()
  const over = new AbortController()
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const breakOff = () => {
          controller.error(gone.reason)
          over.abort()
          // Nobody is left to tell that the source could not be cancelled.
          reader.cancel(gone.reason).catch(() => undefined)
        }
        if (gone.aborted) breakOff()
        else gone.addEventListener('abort', breakOff, { once: true, signal: over.signal })
      },
      async pull(controller) {
        const next = await reader.read()
        if (over.signal.aborted) return
        if (!next.done) return controller.enqueue(next.value)
        over.abort()
        controller.close()
      },
      async cancel(reason) {
        over.abort()
        onCancel()
        await reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(body, { status: answer.status, headers: answer.headers })
}
