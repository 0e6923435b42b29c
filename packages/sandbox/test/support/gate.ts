import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { deferred } from './deferred.ts'

export interface Gate {
  readonly url: string
  /** Resolves when the request was held. */
  readonly held: Promise<void>
  close(): Promise<void>
}

/**
 * Passes requests on to the emulator, up to the one that is held for ever: before it is passed on, or with its answer.
 */
export async function openGate(
  emulator: { handle(request: Request): Promise<Response> },
  hold: { readonly request: number; readonly when: 'before' | 'after' },
): Promise<Gate> {
  let count = 0
  const held = deferred()
  const server = createServer((incoming, outgoing) => {
    void (async () => {
      count += 1
      const isHeld = count === hold.request
      if (isHeld && hold.when === 'before') {
        held.resolve()
        return
      }
      const answer = await emulator.handle(await toRequest(incoming))
      if (isHeld) {
        held.resolve()
        return
      }
      outgoing.writeHead(answer.status, Object.fromEntries(answer.headers))
      outgoing.end(Buffer.from(await answer.arrayBuffer()))
    })()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The gate has no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    held: held.promise,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function toRequest(incoming: IncomingMessage): Promise<Request> {
  const body = await buffer(incoming)
  const headers = Object.entries(incoming.headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
  )
  return new Request(new URL(incoming.url ?? '/', `http://${incoming.headers.host ?? 'localhost'}`), {
    method: incoming.method ?? 'GET',
    headers,
    ...(body.length === 0 ? {} : { body }),
  })
}
