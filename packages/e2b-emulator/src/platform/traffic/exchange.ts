import { request as sendRequest, type IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { cutOnAbort } from '../../abort.ts'
import type { PortConnection } from './connection.ts'

/** What concerns one connection and not the next, and what the client of the next writes itself. */
const HOP_BY_HOP = new Set([
  'connection',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

const WITHOUT_BODY = new Set([204, 205, 304])

/**
 * Sends a request over a connection and reads the answer; undefined where the other side ends the connection without one.
 * The connection is over when the answer's body is, when the client leaves, and when the sandbox stops.
 */
export async function exchange(request: Request, connection: PortConnection): Promise<Response | undefined> {
  const signal = AbortSignal.any([request.signal, connection.signal])
  const answer = await answerOf(request, connection, signal)
  if (answer === undefined) {
    // Rejects as the platform's proxy drops the client of a sandbox that stopped.
    signal.throwIfAborted()
    return undefined
  }
  return cutOnAbort(asResponse(request, answer), signal)
}

function answerOf(
  request: Request,
  connection: PortConnection,
  signal: AbortSignal,
): Promise<IncomingMessage | undefined> {
  const { pathname, search } = new URL(request.url)
  const outgoing = sendRequest({
    createConnection: () => connection.stream,
    method: request.method,
    path: pathname + search,
    headers: { ...forwarded(request.headers), host: connection.host },
    signal,
  })
  return new Promise((resolve) => {
    outgoing.once('response', resolve)
    // After the answer has begun, its own stream tells.
    outgoing.on('error', () => resolve(undefined))
    if (request.body === null) outgoing.end()
    // A service may answer and hang up before it has read everything; the answer counts.
    else pipeline(Readable.fromWeb(request.body), outgoing).catch(() => undefined)
  })
}

const forwarded = (headers: Headers) => Object.fromEntries([...headers].filter(([name]) => !HOP_BY_HOP.has(name)))

function asResponse(request: Request, incoming: IncomingMessage): Response {
  const { statusCode: status = 502, statusMessage: statusText = '', rawHeaders } = incoming
  const headers = new Headers()
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2)
    if (!HOP_BY_HOP.has(name.toLowerCase())) headers.append(name, value)
  }
  const empty = request.method === 'HEAD' || WITHOUT_BODY.has(status)
  if (empty) incoming.resume()
  return new Response(empty ? null : Readable.toWeb(incoming), { status, statusText, headers })
}
