/**
 * The same answer, whose body breaks off with the reason of `brokenOff` once that is aborted: what a connection to a
 * machine that died looks like. `onOver` is called when nothing more is sent, however that came.
 */
export function breakable(answer: Response, brokenOff: AbortSignal, onOver: () => void): Response {
  if (answer.body === null) {
    onOver()
    return answer
  }
  const reader: ReadableStreamDefaultReader<Uint8Array> = answer.body.getReader()
  const over = new AbortController()
  const finish = () => {
    over.abort()
    onOver()
  }
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const breakOff = () => {
          controller.error(brokenOff.reason)
          finish()
          // Nobody is left to tell that the source could not be cancelled.
          reader.cancel(brokenOff.reason).catch(() => undefined)
        }
        if (brokenOff.aborted) breakOff()
        else brokenOff.addEventListener('abort', breakOff, { once: true, signal: over.signal })
      },
      async pull(controller) {
        const next = await reader.read()
        if (over.signal.aborted) return
        if (!next.done) return controller.enqueue(next.value)
        finish()
        controller.close()
      },
      async cancel(reason) {
        finish()
        await reader.cancel(reason)
      },
    },
    // No chunk is asked for before the client asks.
    { highWaterMark: 0 },
  )
  return new Response(body, { status: answer.status, headers: answer.headers })
}
