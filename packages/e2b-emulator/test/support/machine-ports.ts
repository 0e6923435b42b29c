import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { expect } from 'vitest'
import type { Machine } from '../../src/runtime/port.ts'

/** A server of the host on a port of its own. */
export async function listenOnHost(): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server: Server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    async close() {
      server.close()
      await once(server, 'close')
    },
  }
}

/** Has a process of the machine listen on the port and expects to reach it from outside; `meanwhile` finds it running. */
export async function expectReachable(
  machine: Machine,
  port: number,
  meanwhile: () => Promise<void> = async () => {},
): Promise<void> {
  const server = await machine.spawn({
    command: 'node',
    args: [
      '-e',
      `require('net').createServer((s) => s.end('hello')).listen(${port}, '127.0.0.1', () => console.log('up'))`,
    ],
    user: 'user',
    env: {},
    stdin: false,
  })
  await new Promise<void>((resolve) => server.onOutput(() => resolve()))
  const socket = await machine.connect(port)
  const [greeting] = await once(socket, 'data')
  expect(String(greeting)).toBe('hello')
  socket.destroy()
  await meanwhile()
  await server.signal('SIGKILL')
  await server.exit
}
