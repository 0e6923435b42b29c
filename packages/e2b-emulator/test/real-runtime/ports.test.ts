import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { text } from 'node:stream/consumers'
import { Sandbox } from 'e2b'
import { expect, onTestFinished, test } from 'vitest'
import { createEmulator } from '@warmbox/e2b-emulator'
import type { Machine } from '../../src/runtime/port.ts'
import { describeReal, useRuntime } from './support.ts'

/** A server of the host, outside every machine. */
async function hostServer(host: string, port = 0): Promise<Server> {
  const server = createServer((socket) => socket.end('host'))
  server.listen(port, host)
  await once(server, 'listening')
  onTestFinished(async () => {
    if (server.listening) await new Promise((resolve) => server.close(resolve))
  })
  return server
}

function portOf(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening on a port')
  return address.port
}

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = await hostServer('127.0.0.1')
  const port = portOf(server)
  await new Promise((resolve) => server.close(resolve))
  return port
}

const serverProgram = (port: number, host: string, word: string) =>
  `require('net').createServer((s) => s.end('${word}')).listen(${port}, '${host}', () => console.log('up'))`

/** Starts a server in the machine; resolves when it listens. */
async function listenInside(machine: Machine, port: number, options: { host?: string; user?: string } = {}) {
  const { host = '127.0.0.1', user = 'user' } = options
  const server = await machine.spawn({
    command: 'node',
    args: ['-e', serverProgram(port, host, 'inside')],
    user,
    env: {},
    stdin: false,
  })
  await new Promise<void>((resolve) => server.onOutput(() => resolve()))
  return server
}

const said = async (machine: Machine, port: number) => text(await machine.connect(port))
const closed = { code: 'port-closed' }

describeReal('ports of machines, which share the network of their host', () => {
  const bench = useRuntime()

  test.each(['user', 'root'])('what a process of %s listens on is reached', async (user) => {
    const machine = await bench().machine()
    const port = await freePort()
    await expect(machine.connect(port)).rejects.toMatchObject(closed)
    const server = await listenInside(machine, port, { user })
    expect(await said(machine, port)).toBe('inside')
    await server.signal('SIGKILL')
    await server.exit
    await expect(machine.connect(port)).rejects.toMatchObject(closed)
  })

  test.each(['0.0.0.0', '::', '::1'])('on %s too', async (host) => {
    const machine = await bench().machine()
    const port = await freePort()
    await listenInside(machine, port, { host })
    expect(await said(machine, port)).toBe('inside')
  })

  test.each(['127.0.0.1', '::1'])('a service of the host on %s is not reached', async (host) => {
    const machine = await bench().shared()
    const server = await hostServer(host)
    await expect(machine.connect(portOf(server))).rejects.toMatchObject(closed)
  })

  test('a service of another machine is not reached', async () => {
    const [own, other] = await Promise.all([bench().machine(), bench().machine()])
    const port = await freePort()
    await listenInside(other, port)
    await expect(own.connect(port)).rejects.toMatchObject(closed)
    expect(await said(other, port)).toBe('inside')
  })

  test('a port that the host and the machine share by address is that of the machine', async () => {
    const machine = await bench().machine()
    const server = await hostServer('127.0.0.2')
    await listenInside(machine, portOf(server))
    expect(await said(machine, portOf(server))).toBe('inside')
  })

  test('the SDK reaches a server by the host of the sandbox, and no server of the host', async () => {
    const emulator = createEmulator({ runtime: 'real' })
    onTestFinished(() => emulator.close())
    const { connection } = await emulator.listen()
    const sandbox = await Sandbox.create('base', connection)
    const port = await freePort()
    const program = `require('http').createServer((q, s) => s.end(q.url)).listen(${port}, () => console.log('up'))`
    await new Promise<void>((up, failed) => {
      const onStdout = () => up()
      sandbox.commands.run(`node -e "${program}"`, { background: true, onStdout }).catch(failed)
    })
    const inside = await emulator.fetch(`https://${sandbox.getHost(port)}/path?query`)
    expect(await inside.text()).toBe('/path?query')
    const outside = portOf(await hostServer('127.0.0.1'))
    const refused = await emulator.fetch(`https://${sandbox.getHost(outside)}/`)
    expect(refused.status).toBe(502)
    expect(await refused.json()).toMatchObject({ port: outside })
  })
})
