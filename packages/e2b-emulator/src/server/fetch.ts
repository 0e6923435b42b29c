import { ConnectionReset } from '../faults.ts'

/** `fetch` over a handler: what reaches the network there is answered here. */
export function createFetch(handle: (request: Request) => Promise<Response>): typeof globalThis.fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    const { signal } = request
    signal.throwIfAborted()
    const aborted = abortion(signal)
    try {
      return await Promise.race([handle(request), aborted.promise])
    } catch (error) {
      // The error a fetch ends with when the peer drops the connection.
      if (error instanceof ConnectionReset) throw new TypeError('fetch failed', { cause: error })
      throw error
    } finally {
      aborted.stop()
    }
  }
}

function abortion(signal: AbortSignal): { readonly promise: Promise<never>; stop(): void } {
  let stop = () => {}
  const promise = new Promise<never>((_, reject) => {
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    stop = () => signal.removeEventListener('abort', abort)
  })
  return { promise, stop: () => stop() }
}
