/** Bytes `start` to `end`, both included. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/**
 * The one range a `Range` header asks of `size` bytes: undefined for none or a form not served (then the whole is sent,
 * as HTTP allows), `unsatisfiable` where it lies outside.
 */
export function requestedRange(header: string | null, size: number): ByteRange | 'unsatisfiable' | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '')
  const [, first = '', last = ''] = match ?? []
  if (match === null || (first === '' && last === '')) return undefined
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1)
  return start <= end ? { start, end } : 'unsatisfiable'
}

/** Passes on just those bytes, and ends the source once it has them. */
export function sliced(source: ReadableStream<Uint8Array>, { start, end }: ByteRange): ReadableStream<Uint8Array> {
  let position = 0
  return source.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const from = Math.max(0, start - position)
        const to = end + 1 - position
        position += chunk.byteLength
        if (from < chunk.byteLength && to > from) controller.enqueue(chunk.subarray(from, to))
        if (position > end) controller.terminate()
      },
    }),
  )
}
