/** Where a body breaks off. Messages are those of the daemon's streams: a flag byte, four of length, the message. */
export type StreamCut = { readonly bytes: number } | { readonly messages: number }

/** What a reader sees of a connection that broke: the words of fetch itself, which clients look for. */
export const brokenConnection = (): TypeError => new TypeError('terminated')

/**
 * The same answer, whose body breaks off once so much of it was read. One that is shorter ends as usual. The source is
 * cancelled, as it is when a client leaves.
 */
export function cutAfter(answer: Response, cut: StreamCut): Response {
  const { body } = answer
  if (body === null) return answer
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader()
  const meter = 'bytes' in cut ? byteMeter(cut.bytes) : messageMeter(cut.messages)
  const shortened = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (meter.spent()) {
          controller.error(brokenConnection())
          // That the source may refuse to be cancelled concerns nobody.
          reader.cancel().catch(() => undefined)
          return
        }
        const { done, value } = await reader.read()
        if (done) controller.close()
        // Never empty: a meter that is not spent lets at least a byte pass.
        else controller.enqueue(value.subarray(0, meter.take(value)))
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  return new Response(shortened, { status: answer.status, headers: answer.headers })
}

interface Meter {
  spent(): boolean
  /** How many bytes of the chunk may pass. */
  take(chunk: Uint8Array): number
}

function byteMeter(limit: number): Meter {
  let left = limit
  return {
    spent: () => left <= 0,
    take(chunk) {
      const passed = Math.min(left, chunk.byteLength)
      left -= passed
      return passed
    },
  }
}

const PREFIX_BYTES = 5

function messageMeter(limit: number): Meter {
  let left = limit
  let prefix: number[] = []
  let payload = 0
  return {
    spent: () => left <= 0,
    take(chunk) {
      let at = 0
      while (at < chunk.byteLength && left > 0) {
        if (prefix.length < PREFIX_BYTES) {
          prefix.push(chunk[at] ?? 0)
          at += 1
          if (prefix.length < PREFIX_BYTES) continue
          payload = prefix.slice(1).reduce((length, byte) => length * 256 + byte, 0)
        }
        const passed = Math.min(payload, chunk.byteLength - at)
        at += passed
        payload -= passed
        if (payload > 0) continue
        prefix = []
        left -= 1
      }
      return at
    },
  }
}
