import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { PassThrough, Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { setImmediate } from 'node:timers/promises'

/** How long a client may go on sending a body whose answer it has, before its connection is dropped. */
const LINGER_MS = 2000

/** The request as the fetch standard has it; its signal aborts when the client goes away. */
export function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = 'GET', url = '/', headers } = incoming
  const withBody = method !== 'GET' && method !== 'HEAD'
  const pairs = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((single): [string, string] => [name, single]),
  )
  return new Request(new URL(url, `http://${headers.host}`), {
    method,
    headers: pairs,
    signal,
    ...(withBody ? { body: bodyOf(incoming), duplex: 'half' } : {}),
  })
}

/** The body as it arrives. Whoever has read enough of it may leave: that ends this stream, not the connection. */
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  const body = new PassThrough()
  incoming.once('error', (error) => body.destroy(error))
  incoming.pipe(body)
  return Readable.toWeb(body)
}

/**
 * Sends a response as its body is read; a body that fails destroys the connection. Where it begins before the request was
 * read to its end, the connection serves no other: its next request would be looked for in the rest of this one.
 */
export async function sendResponse(response: Response, outgoing: ServerResponse): Promise<void> {
  const { req: incoming } = outgoing
  // A quick refusal gets ahead of a body that came along with its head.
  if (isStillSent(incoming)) await setImmediate()
  // Cookies are the one header that several lines of cannot be joined.
  const cookies = response.headers.getSetCookie()
  const headers = {
    ...Object.fromEntries(response.headers),
    ...(cookies.length === 0 ? {} : { 'set-cookie': cookies }),
    ...(isStillSent(incoming) ? { connection: 'close' } : {}),
  }
  if (response.body === null) {
    // Without it an empty 202 would go out chunked, which clients wait on.
    outgoing.writeHead(response.status, response.status === 204 ? headers : { ...headers, 'content-length': '0' })
  } else {
    outgoing.writeHead(response.status, headers)
    outgoing.flushHeaders()
    await sendBody(response.body, outgoing)
  }
  await discardRest(incoming)
  outgoing.end()
}

async function sendBody(body: ReadableStream<Uint8Array>, outgoing: ServerResponse): Promise<void> {
  const reader = body.getReader()
  // The client has left: that the source may refuse to be cancelled concerns nobody.
  const leave = () => void reader.cancel().catch(() => undefined)
  outgoing.once('close', leave)
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done || outgoing.destroyed) break
      if (!outgoing.write(value)) await drainedOrClosed(outgoing)
    }
  } finally {
    outgoing.off('close', leave)
  }
}

/** Whether more of the request is to come. One without a body is not complete either as long as its head is being handled. */
const isStillSent = ({ complete, headers }: IncomingMessage) =>
  !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)

/**
 * Reads what nobody wanted of a request, and drops it: over unread bytes a connection is reset, and a reset can overtake
 * the answer. A client that goes on and on is not waited for.
 */
async function discardRest(incoming: IncomingMessage): Promise<void> {
  incoming.unpipe()
  incoming.resume()
  if (!isStillSent(incoming)) return
  // Whether it left or ran out of time: the answer is given, and the connection ends with it.
  await finished(incoming, { signal: AbortSignal.timeout(LINGER_MS) }).catch(() => undefined)
}

async function drainedOrClosed(outgoing: ServerResponse): Promise<void> {
  // Ends the wait that lost, whose listeners would otherwise stay for as long as the response.
  const over = new AbortController()
  const { signal } = over
  try {
    await Promise.race([once(outgoing, 'drain', { signal }), once(outgoing, 'close', { signal })])
  } finally {
    over.abort()
  }
}
