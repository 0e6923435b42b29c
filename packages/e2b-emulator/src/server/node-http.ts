import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'

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
    ...(withBody ? { body: Readable.toWeb(incoming), duplex: 'half' } : {}),
  })
}

/** Sends a response as its body is read; a body that fails destroys the connection. */
export async function sendResponse(response: Response, outgoing: ServerResponse): Promise<void> {
  // Cookies are the one header that several lines of cannot be joined.
  const cookies = response.headers.getSetCookie()
  const headers = {
    ...Object.fromEntries(response.headers),
    ...(cookies.length === 0 ? {} : { 'set-cookie': cookies }),
  }
  if (response.body === null) {
    // Without it an empty 202 would go out chunked, which clients wait on.
    outgoing.writeHead(response.status, response.status === 204 ? headers : { ...headers, 'content-length': '0' }).end()
    return
  }
  outgoing.writeHead(response.status, headers)
  outgoing.flushHeaders()
  const reader = response.body.getReader()
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
  outgoing.end()
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
