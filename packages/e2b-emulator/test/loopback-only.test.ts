import { createSocket } from 'node:dgram'
import dns from 'node:dns'
import { lookup, resolve4 } from 'node:dns/promises'
import { once } from 'node:events'
import { createServer, connect } from 'node:net'
import { Sandbox } from 'e2b'
import { expect, onTestFinished, test } from 'vitest'

// The setup of this package's vitest configuration refuses these; nothing here asks it to.

const refused = { code: 'ERR_BEYOND_LOOPBACK' }

/** The error and the causes behind it. */
function chain(error: unknown): unknown[] {
  return error instanceof Error ? [error, ...chain(error.cause)] : []
}

const failureOf = (work: Promise<unknown>): Promise<unknown[]> =>
  work.then(
    () => [],
    (error: unknown) => chain(error),
  )

test.each([
  [{ host: '192.0.2.1', port: 80 }],
  [{ host: 'service.example', port: 443 }],
  [{ host: '2001:db8::1', port: 80 }],
])('a connection to %j is refused', async (options) => {
  const socket = connect(options)
  const [error] = await once(socket, 'error')
  expect(error).toMatchObject(refused)
})

test('so are those of fetch and of the SDK', async () => {
  const outcomes = [
    await failureOf(fetch('http://192.0.2.1/')),
    await failureOf(Sandbox.list({ apiKey: 'e2b_00', requestTimeoutMs: 5000, retries: 0 }).nextItems()),
  ]
  for (const errors of outcomes) expect(errors).toContainEqual(expect.objectContaining(refused))
})

test('names are not looked up', async () => {
  await expect(lookup('service.example')).rejects.toMatchObject(refused)
  await expect(resolve4('service.example')).rejects.toMatchObject(refused)
  const error = await new Promise((resolve) => dns.lookup('service.example', resolve))
  expect(error).toMatchObject(refused)
})

test('datagrams are not sent', () => {
  const socket = createSocket('udp4')
  onTestFinished(() => void socket.close())
  expect(() => socket.send('x', 53, '192.0.2.1')).toThrow(expect.objectContaining(refused))
})

test('this machine answers as before', async () => {
  const server = createServer((socket) => socket.end('hello'))
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  const [greeting] = await once(connect(port, 'localhost'), 'data')
  expect(String(greeting)).toBe('hello')
})
