import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'

export interface SlowProxy {
  readonly url: string
  close(): Promise<void>
}

/**
 * Forwards to a server on loopback, each request after `hold` has let it.
 * @param hold resolves when the request may go on; what it resolves with is called once the answer is through
 */
export async function startSlowProxy(
  upstream: string,
  hold: (request: IncomingMessage) => Promise<() => void>,
): Promise<SlowProxy> {
  const forward = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const answered = await hold(incoming)
    const { host } = new URL(upstream)
    const outgoing = request(new URL(incoming.url ?? '/', upstream), {
      method: incoming.method ?? 'GET',
      headers: { ...incoming.headers, host },
    })
    outgoing.once('response', (answer) => {
      answered()
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    outgoing.once('error', () => response.destroy())
    incoming.pipe(outgoing)
  }
  const server = createServer((incoming, response) => void forward(incoming, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The proxy listens on no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
