import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Envd } from '../../../src/envd/index.ts'

/** Serves one envd on a port of 127.0.0.1; requests name their sandbox in `E2b-Sandbox-Id`, signed URLs in the path. */
export async function listen(envd: Envd) {
  const server = createServer((incoming, outgoing) => void answer(envd, incoming, outgoing))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function answer(envd: Envd, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const left = new AbortController()
  outgoing.once('close', () => left.abort())
  const method = incoming.method ?? 'GET'
  const request = new Request(new URL(incoming.url ?? '/', 'http://127.0.0.1'), {
    method,
    headers: Object.entries(incoming.headersDistinct).flatMap(([name, values = []]) =>
      values.map((value): [string, string] => [name, value]),
    ),
    signal: left.signal,
    ...(method === 'GET' ? {} : { body: Readable.toWeb(incoming), duplex: 'half' }),
  })
  const response = await envd.handle(request, request.headers.get('E2b-Sandbox-Id') ?? 'sandbox-1')
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  if (response.body === null) {
    outgoing.end()
    return
  }
  // A body that breaks off, or a client that leaves: either way the connection is closed and nothing is left to say.
  await pipeline(Readable.fromWeb(response.body), outgoing).catch(() => outgoing.destroy())
}
