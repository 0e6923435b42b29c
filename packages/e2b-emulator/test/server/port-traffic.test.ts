import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { Sandbox } from 'e2b'
import { describe, expect, test } from 'vitest'
import { createScriptedRuntime, type ScriptedPort } from '@warmbox/e2b-emulator'
import { collectGarbage } from '../envd/support/garbage.ts'
import { deferred } from '../support/deferred.ts'
import { startEmulator } from '../support/emulator.ts'

const withPorts = (...ports: ScriptedPort[]) => startEmulator({ runtime: createScriptedRuntime({ ports }) })

/** Answers with what it was asked. */
const echo: ScriptedPort = {
  port: 3000,
  answer: async (request) =>
    Response.json(
      {
        method: request.method,
        path: new URL(request.url).pathname + new URL(request.url).search,
        host: request.headers.get('host'),
        custom: request.headers.get('x-custom'),
        body: await request.text(),
      },
      {
        status: 203,
        headers: [
          ['set-cookie', 'a=1'],
          ['set-cookie', 'b=2'],
          ['x-answer', 'yes'],
        ],
      },
    ),
}

interface Sent {
  readonly host: string
  readonly method?: string
  readonly path?: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

/** A request whose Host is what the test says; fetch would not let it be set. */
function send(url: string, { host, method = 'GET', path = '/', headers = {}, body }: Sent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    httpRequest(new URL(path, url), { method, headers: { ...headers, host } }, resolve)
      .on('error', reject)
      .end(body)
  })
}

const jsonOf = async (message: IncomingMessage): Promise<unknown> => JSON.parse(await text(message))

describe('a port of a sandbox', () => {
  test('is reached by host name: method, path, headers and body pass both ways [D37]', async () => {
    const { connection } = await withPorts(echo)
    const { sandboxId } = await Sandbox.create('base', connection)
    const host = `3000-${sandboxId}.localhost`
    const answer = await send(connection.apiUrl, {
      host,
      method: 'POST',
      path: '/a/b?c=d%20e',
      headers: { 'x-custom': 'kept' },
      body: 'sent',
    })
    expect(answer.statusCode).toBe(203)
    expect(answer.headers).toMatchObject({ 'x-answer': 'yes', 'set-cookie': ['a=1', 'b=2'] })
    expect(await jsonOf(answer)).toEqual({ method: 'POST', path: '/a/b?c=d%20e', host, custom: 'kept', body: 'sent' })
  })

  test('is reached by the host that the SDK gives, whatever its domain, and by that of no other sandbox', async () => {
    const { connection } = await withPorts(echo)
    const sandbox = await Sandbox.create('base', connection)
    expect((await send(connection.apiUrl, { host: sandbox.getHost(3000) })).statusCode).toBe(203)
    expect((await send(connection.apiUrl, { host: '3000-inope.e2b.app' })).statusCode).toBe(403)
  })

  test('is reached by the two headers, through fetch and handle too [D37]', async () => {
    const { emulator, connection } = await withPorts(echo)
    const { sandboxId } = await Sandbox.create('base', connection)
    const headers = { 'E2b-Sandbox-Id': sandboxId, 'E2b-Sandbox-Port': '3000' }
    expect((await fetch(connection.sandboxUrl, { headers })).status).toBe(203)
    const fetched = await emulator.fetch(`https://3000-${sandboxId}.e2b.app/x`, { method: 'PUT', body: 'y' })
    expect(await fetched.json()).toMatchObject({
      method: 'PUT',
      path: '/x',
      body: 'y',
      host: `3000-${sandboxId}.e2b.app`,
    })
    const handled = await emulator.handle(new Request('https://sandbox.e2b.app/', { headers }))
    expect(handled.status).toBe(203)
    expect(emulator.control.requests.map(({ plane }) => plane)).toContain('port')
  })

  test('that nobody listens on is a 502 that names it [D6]', async () => {
    const { emulator, connection } = await withPorts()
    const { sandboxId } = await Sandbox.create('base', connection)
    const answer = await emulator.fetch(`https://3001-${sandboxId}.e2b.app/`)
    expect(answer.status).toBe(502)
    expect(await answer.json()).toEqual({
      sandboxId,
      message: 'The sandbox is running but port is not open',
      port: 3001,
      code: 502,
    })
  })

  test.each([
    [
      'fails',
      () => {
        throw new TypeError('not today')
      },
      'the row of port 3000 of the scripted runtime failed: TypeError: not today\n',
    ],
    ['gives no response', () => JSON.parse('{}'), 'the row of port 3000 of the scripted runtime gave no Response\n'],
  ])('whose row %s is a 500 that names it', async (_how, answer, told) => {
    const { emulator, connection } = await withPorts({ port: 3000, answer })
    const { sandboxId } = await Sandbox.create('base', connection)
    const answered = await emulator.fetch(`https://3000-${sandboxId}.e2b.app/`)
    expect(answered.status).toBe(500)
    expect(await answered.text()).toBe(told)
  })

  test('whose service hangs up without an answer is a 502 that names it', async () => {
    const { emulator, connection } = await withPorts({ port: 3000, accept: (stream) => stream.destroy() })
    const { sandboxId } = await Sandbox.create('base', connection)
    const answer = await emulator.fetch(`https://3000-${sandboxId}.e2b.app/`)
    expect(await answer.json()).toMatchObject({ port: 3000, code: 502 })
  })

  test.each(['0', '65536', 'http'])('%s is no port: 400', async (port) => {
    const { connection } = await withPorts()
    const { sandboxId } = await Sandbox.create('base', connection)
    const headers = { 'E2b-Sandbox-Id': sandboxId, 'E2b-Sandbox-Port': port }
    expect((await fetch(connection.sandboxUrl, { headers })).status).toBe(400)
  })

  test('of a sandbox that is gone is a 502 that names the sandbox [D5]', async () => {
    const { emulator, connection } = await withPorts(echo)
    const sandbox = await Sandbox.create('base', connection)
    await sandbox.kill()
    const answer = await emulator.fetch(`https://3000-${sandbox.sandboxId}.e2b.app/`)
    expect(answer.status).toBe(502)
    expect(await answer.json()).toEqual({
      sandboxId: sandbox.sandboxId,
      message: 'The sandbox was not found',
      code: 502,
    })
  })

  test('sees the masked Host where one is set, with the port filled in [D38]', async () => {
    const { emulator, connection } = await withPorts(echo)
    const network = { maskRequestHost: 'localhost:${PORT}' }
    const { sandboxId } = await Sandbox.create('base', { ...connection, network })
    const answer = await emulator.fetch(`https://3000-${sandboxId}.e2b.app/`)
    expect(await answer.json()).toMatchObject({ host: 'localhost:3000' })
  })
})

describe('without public traffic', () => {
  const closed = { network: { allowPublicTraffic: false } }
  const header = 'e2b-traffic-access-token'

  test('a port wants the traffic token: 403 where it is missing or wrong [D37]', async () => {
    const { emulator, connection } = await withPorts(echo)
    const sandbox = await Sandbox.create('base', { ...connection, ...closed })
    const ask = (headers: Record<string, string>) =>
      emulator.fetch(`https://3000-${sandbox.sandboxId}.e2b.app/`, { headers })
    const missing = await ask({})
    expect(missing.status).toBe(403)
    expect(await missing.json()).toEqual({
      sandboxId: sandbox.sandboxId,
      message: `Sandbox is secured with traffic access token. Token header '${header}' is missing`,
      code: 403,
    })
    const wrong = await ask({ [header]: 'wrong' })
    expect(wrong.status).toBe(403)
    expect(await wrong.json()).toMatchObject({ message: expect.stringContaining('is invalid') })
    expect((await ask({ [header]: sandbox.trafficAccessToken ?? '' })).status).toBe(203)
  })

  test('the daemon goes on checking its own token alone [D37]', async () => {
    const { connection } = await withPorts()
    const sandbox = await Sandbox.create('base', { ...connection, ...closed })
    expect((await sandbox.commands.run('true')).exitCode).toBe(0)
  })
})

describe('streams', () => {
  test('come as they are sent, and the service learns that its client left', async () => {
    const left = deferred<void>()
    const opened = deferred<ReadableStreamDefaultController<Uint8Array>>()
    const { connection } = await withPorts({
      port: 3000,
      answer: () =>
        new Response(new ReadableStream<Uint8Array>({ start: opened.resolve, cancel: () => left.resolve() })),
    })
    const { sandboxId } = await Sandbox.create('base', connection)
    const answer = await send(connection.apiUrl, { host: `3000-${sandboxId}.localhost` })
    const source = await opened.promise
    source.enqueue(new TextEncoder().encode('first'))
    const [first]: unknown[] = await once(answer, 'data')
    expect(String(first)).toBe('first')
    source.enqueue(new TextEncoder().encode('second'))
    const [second]: unknown[] = await once(answer, 'data')
    expect(String(second)).toBe('second')
    answer.destroy()
    await left.promise
  })

  test('through fetch end with its signal, however long after the answer began', async () => {
    const left = deferred<void>()
    const { emulator, connection } = await withPorts({
      port: 3000,
      answer: () => new Response(new ReadableStream<Uint8Array>({ cancel: () => left.resolve() })),
    })
    const { sandboxId } = await Sandbox.create('base', connection)
    const leaving = new AbortController()
    const answer = await emulator.fetch(`https://3000-${sandboxId}.e2b.app/`, { signal: leaving.signal })
    const reading = answer.text()
    await collectGarbage()
    leaving.abort()
    await expect(reading).rejects.toMatchObject({ name: 'AbortError' })
    await left.promise
  })

  test('of an upload reach the service before it is complete', async () => {
    const heard = deferred<string>()
    const { connection } = await withPorts({
      port: 3000,
      answer: async (request) => {
        const reader = request.body?.getReader()
        heard.resolve(new TextDecoder().decode((await reader?.read())?.value))
        return new Response(new TextDecoder().decode((await reader?.read())?.value))
      },
    })
    const { sandboxId } = await Sandbox.create('base', connection)
    const outgoing = httpRequest(connection.apiUrl, {
      method: 'POST',
      headers: { host: `3000-${sandboxId}.localhost` },
    })
    const answered = once(outgoing, 'response')
    outgoing.write('first')
    expect(await heard.promise).toBe('first')
    outgoing.end('second')
    const [answer]: IncomingMessage[] = await answered
    expect(answer && (await text(answer))).toBe('second')
  })

  test('break off when the sandbox is killed', async () => {
    const opened = deferred<void>()
    const { connection } = await withPorts({
      port: 3000,
      answer: () =>
        new Response(
          new ReadableStream({
            start: (controller) => {
              controller.enqueue(new Uint8Array(1))
              opened.resolve()
            },
          }),
        ),
    })
    const sandbox = await Sandbox.create('base', connection)
    const answer = await send(connection.apiUrl, { host: `3000-${sandbox.sandboxId}.localhost` })
    const reading = text(answer)
    await opened.promise
    await Promise.all([expect(reading).rejects.toMatchObject({ code: 'ECONNRESET' }), sandbox.kill()])
  })
})
