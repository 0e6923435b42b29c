import { once } from 'node:events'
import { connect } from 'node:net'
import { Sandbox } from 'e2b'
import { describe, expect, test } from 'vitest'
import { createScriptedRuntime, type ScriptedPort } from '@warmbox/e2b-emulator'
import { deferred } from '../support/deferred.ts'
import { eventually, startEmulator } from '../support/emulator.ts'

const withPorts = (...ports: ScriptedPort[]) => startEmulator({ runtime: createScriptedRuntime({ ports }) })

/** Says what it was asked, switches, and echoes. */
const upgrading = (asked: (head: string) => void): ScriptedPort => ({
  port: 3000,
  accept(stream) {
    stream.once('data', (head: Buffer) => {
      asked(head.toString())
      stream.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
      stream.on('data', (chunk: Buffer) => stream.write(`echo ${chunk.toString()}`))
    })
    stream.on('end', () => stream.end())
    stream.on('error', () => stream.destroy())
  },
})

async function upgrade(apiUrl: string, host: string, headers = '') {
  const socket = connect(Number(new URL(apiUrl).port), '127.0.0.1')
  await once(socket, 'connect')
  let received = ''
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()))
  socket.on('error', () => undefined)
  const closed = once(socket, 'close')
  socket.write(`GET /chat HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${headers}\r\n`)
  const until = (wanted: string) => eventually(() => (received.includes(wanted) ? received : undefined))
  return { socket, until, closed, received: () => received }
}

describe('a change of protocols', () => {
  test('passes through, both ways, until the client leaves', async () => {
    const asked = deferred<string>()
    const { connection } = await withPorts(upgrading(asked.resolve))
    const { sandboxId } = await Sandbox.create('base', connection)
    const client = await upgrade(connection.apiUrl, `3000-${sandboxId}.localhost`, 'Sec-WebSocket-Key: k\r\n')
    await client.until('101 Switching Protocols')
    expect(await asked.promise).toContain('GET /chat HTTP/1.1\r\n')
    expect(await asked.promise).toContain('Sec-WebSocket-Key: k\r\n')
    client.socket.write('hello')
    await client.until('echo hello')
    client.socket.end()
    await client.closed
    expect(client.received()).toMatch(/echo hello$/)
  })

  test('ends when the sandbox is paused', async () => {
    const { connection } = await withPorts(upgrading(() => undefined))
    const sandbox = await Sandbox.create('base', connection)
    const client = await upgrade(connection.apiUrl, `3000-${sandbox.sandboxId}.localhost`)
    await client.until('101')
    await sandbox.pause()
    await client.closed
    expect(client.socket.destroyed).toBe(true)
  })

  test('ends when the server closes', async () => {
    const { emulator, connection } = await withPorts(upgrading(() => undefined))
    const { sandboxId } = await Sandbox.create('base', connection)
    const extra = await emulator.listen()
    const client = await upgrade(extra.url, `3000-${sandboxId}.localhost`)
    await client.until('101')
    await extra.close()
    await client.closed
    expect((await Sandbox.getInfo(sandboxId, connection)).state).toBe('running')
  })

  test('is answered where nobody listens, and dropped where the host is a stranger', async () => {
    const { connection } = await withPorts()
    const { sandboxId } = await Sandbox.create('base', connection)
    const refused = await upgrade(connection.apiUrl, `3000-${sandboxId}.localhost`)
    await refused.closed
    expect(refused.received()).toContain('502 Bad Gateway')
    expect(refused.received()).toContain('"port":3000')
    const stranger = await upgrade(connection.apiUrl, 'evil.example')
    await stranger.closed
    expect(stranger.received()).toBe('')
  })

  test('is ignored by the control plane', async () => {
    const { connection } = await withPorts()
    const client = await upgrade(connection.apiUrl, 'localhost')
    await client.closed
    expect(client.received()).toMatch(/^HTTP\/1\.1 401 /)
  })
})
