import { once } from 'node:events'
import { connect } from 'node:net'
import { Sandbox } from 'e2b'
import { describe, expect, test } from 'vitest'
import { createScriptedRuntime, type EmulatorConnection } from '@warmbox/e2b-emulator'
import { startEmulator, type Running } from '../support/emulator.ts'

/** More than the buffers on the way hold, and than the emulator reads of a call. */
const LARGE = 'x'.repeat(17 * 1024 * 1024)

/** A request as it goes over the wire, sent to its end whatever is answered, and all that comes back. */
async function exchange({ connection }: Running, head: readonly string[], body: string): Promise<string> {
  const socket = connect(Number(new URL(connection.apiUrl).port), '127.0.0.1')
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  const ended = once(socket, 'end')
  socket.write([...head, `Content-Length: ${body.length}`, '', body].join('\r\n'))
  await ended
  socket.destroy()
  return Buffer.concat(chunks).toString()
}

const key = ({ apiKey }: EmulatorConnection) => `X-API-KEY: ${apiKey}`

/** Why a request is answered before its body was read, and its head. */
const cases: readonly (readonly [
  status: number,
  why: string,
  head: (running: Running, sandboxId: string) => string[],
])[] = [
  [413, 'too large', ({ connection }) => ['POST /v2/sandboxes HTTP/1.1', 'Host: localhost', key(connection)]],
  [401, 'no key', () => ['POST /v2/sandboxes HTTP/1.1', 'Host: localhost']],
  [501, 'no such route', ({ connection }) => ['POST /nothing HTTP/1.1', 'Host: localhost', key(connection)]],
  [403, 'a foreign host', () => ['POST /v2/sandboxes HTTP/1.1', 'Host: evil.example']],
  [404, 'a made-up upload', () => ['PUT /emulator/uploads/none HTTP/1.1', 'Host: localhost']],
  [503, 'a fault', () => ['PUT /struck HTTP/1.1', 'Host: localhost']],
  [401, 'a file without a token', (_, id) => ['POST /files?path=f HTTP/1.1', `Host: 49983-${id}.localhost`]],
  [502, 'a closed port', (_, id) => ['POST / HTTP/1.1', `Host: 3001-${id}.localhost`]],
  [202, 'a service that does not read', (_, id) => ['POST / HTTP/1.1', `Host: 3000-${id}.localhost`]],
  [502, 'an unknown sandbox', () => ['POST / HTTP/1.1', 'Host: 3000-nope.localhost']],
]

async function started(): Promise<Running> {
  return startEmulator({
    runtime: createScriptedRuntime({ ports: [{ port: 3000, answer: () => new Response('taken', { status: 202 }) }] }),
    faults: [{ match: { path: '/struck' }, times: Infinity, effect: { kind: 'answer', status: 503 } }],
  })
}

describe('an answer given before the body was read', () => {
  test.each(cases)('arrives whole and ends its connection: %i, %s', async (status, _why, head) => {
    const emulator = await started()
    const { sandboxId } = await Sandbox.create('base', emulator.connection)
    const answer = await exchange(emulator, head(emulator, sandboxId), LARGE)
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(answer).toMatch(/\r\nconnection: close\r\n/i)
    // The last chunk: the answer is whole.
    expect(answer).toMatch(/\r\n0\r\n\r\n$/)
  })

  test('leaves the requests after it alone', async () => {
    const { connection, emulator } = await started()
    const outcomes: unknown[] = []
    const create = async (metadata: Record<string, string>) => {
      const made = await Sandbox.create('base', { ...connection, metadata }).catch((error: Error) => error)
      outcomes.push(made instanceof Error ? made.message : 'created')
    }
    for (let round = 0; round < 3; round += 1) {
      await create({ large: LARGE })
      await create({})
      await create({})
    }
    const expected = ['413: request too large', 'created', 'created']
    expect(outcomes).toEqual([...expected, ...expected, ...expected])
    expect(emulator.control.sandboxes()).toHaveLength(6)
  })

  test('keeps the connection where the body had arrived', async () => {
    const emulator = await started()
    const { sandboxId } = await Sandbox.create('base', emulator.connection)
    const small = ['POST / HTTP/1.1', `Host: 3000-${sandboxId}.localhost`, 'Content-Length: 2', '', 'ab'].join('\r\n')
    const answers = await exchange(emulator, [`${small}POST /last HTTP/1.1`, 'Host: evil.example'], LARGE)
    expect(answers.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 202', 'HTTP/1.1 403'])
  })

  test('is not held back for a client that never ends its body', async () => {
    const { connection } = await started()
    const socket = connect(Number(new URL(connection.apiUrl).port), '127.0.0.1')
    const closed = once(socket, 'close')
    const answer = once(socket, 'data')
    socket.on('error', () => undefined)
    socket.write('POST /v2/sandboxes HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n')
    expect(String(await answer)).toMatch(/^HTTP\/1.1 401 /)
    await closed
  })
})
