import { unlessAborted } from '../abort.ts'
import { ConnectionReset } from '../faults.ts'

/** `fetch` over a handler: what would reach the network is answered here. */
export function createFetch(handle: (request: Request) => Promise<Response>): typeof globalThis.fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    try {
      return await unlessAborted(handle(request), request.signal)
    } catch (error) {
      // The error a fetch ends with when the peer drops the connection.
      if (error instanceof ConnectionReset) throw new TypeError('fetch failed', { cause: error })
      throw error
    }
  }
}
