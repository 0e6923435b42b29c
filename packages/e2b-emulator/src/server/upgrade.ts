import { ServerResponse, type IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream/promises'
import type { PortConnection } from '../platform/traffic/connection.ts'
import { sendResponse, toRequest } from './node-http.ts'

/**
 * Serves a request to change protocols, a WebSocket for example: it goes to the port it is for, and from then on bytes
 * pass both ways as they are. `head` is what the client sent after it.
 */
export async function serveUpgrade(
  openPort: (request: Request) => Promise<PortConnection | Response>,
  incoming: IncomingMessage,
  head: Buffer,
): Promise<void> {
  const { socket } = incoming
  const disconnected = new AbortController()
  socket.once('close', () => disconnected.abort())
  // The server has let go of this socket; its errors show as the end of what reads and writes it.
  socket.on('error', () => socket.destroy())
  try {
    const opened = await openPort(toRequest(incoming, disconnected.signal))
    if (opened instanceof Response) await answer(incoming, opened)
    else await tunnel(incoming, head, opened)
  } catch {
    // As for other requests: there is no answer left to give.
    socket.destroy()
  }
}

async function answer(incoming: IncomingMessage, response: Response): Promise<void> {
  const outgoing = new ServerResponse(incoming)
  outgoing.shouldKeepAlive = false
  outgoing.assignSocket(incoming.socket)
  outgoing.once('finish', () => incoming.socket.end())
  await sendResponse(response, outgoing)
}

/** Ends when either side does, and when the sandbox stops running. */
async function tunnel(incoming: IncomingMessage, head: Buffer, connection: PortConnection): Promise<void> {
  const { stream, host, signal } = connection
  const { socket } = incoming
  stream.write(requestHead(incoming, host))
  stream.write(head)
  try {
    await Promise.all([pipeline(socket, stream, { signal }), pipeline(stream, socket, { signal })])
  } finally {
    stream.destroy()
    socket.destroy()
  }
}

/** The request as it came, but for its Host. */
function requestHead({ method, url, rawHeaders }: IncomingMessage, host: string): string {
  const lines = [`${method} ${url} HTTP/1.1`, `Host: ${host}`]
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2)
    if (name.toLowerCase() !== 'host') lines.push(`${name}: ${value}`)
  }
  return `${lines.join('\r\n')}\r\n\r\n`
}
