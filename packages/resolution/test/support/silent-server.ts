import { createServer, type Socket } from 'node:net'
import { afterAll } from 'vitest'

/**
 * An address that accepts connections and never says a word. An intercepted request with a body opens its socket all the
 * same, and a name that does not resolve could win the race against the handler's answer.
 * @returns its http URL; it closes after the tests of the file.
 */
export async function silentServer(): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  afterAll(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('The server has no port')
  return `http://127.0.0.1:${address.port}`
}
