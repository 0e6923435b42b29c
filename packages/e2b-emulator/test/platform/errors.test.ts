import { AuthenticationError, RateLimitError, Sandbox, SandboxError, ServiceBusyError } from 'e2b'
import { describe, expect, test } from 'vitest'
import { startEmulator, type Running } from '../support/emulator.ts'

const create = ({ connection }: Running, body: string) =>
  fetch(`${connection.apiUrl}/v2/sandboxes`, {
    method: 'POST',
    headers: { 'X-API-KEY': connection.apiKey, 'content-type': 'application/json' },
    body,
  })

const padded = (size: number) => {
  const [before, after] = ['{"templateID": "base", "metadata": {"a": "', '"}}']
  return before + 'x'.repeat(size - before.length - after.length) + after
}

describe('errors', () => {
  test.each([
    ['GET', '/sandboxes/unknown', 404],
    ['DELETE', '/sandboxes/unknown', 404],
    ['POST', '/sandboxes/unknown/pause', 404],
    ['GET', '/templates/unknown', 404],
    ['GET', '/templates/unknown/tags', 404],
    ['GET', '/templates/aliases/unknown', 404],
    ['GET', '/templates/aliases/base', 403],
    ['GET', '/templates/aliases/no.dots', 400],
    ['GET', '/v2/sandboxes?limit=0', 400],
    ['GET', '/volumes', 501],
  ])('of %s %s have a message, and the status %i as their code [A4]', async (method, path, status) => {
    const { connection } = await startEmulator()
    const response = await fetch(connection.apiUrl + path, { method, headers: { 'X-API-KEY': connection.apiKey } })
    expect(response.status).toBe(status)
    expect(await response.json()).toEqual({ code: status, message: expect.stringMatching(/./) })
  })

  test('in the body come before those of the handler [A5]', async () => {
    const running = await startEmulator({ limits: { concurrentSandboxes: 0 } })
    const answers = [
      await create(running, '{"templateID": "no such template", "timeout": "soon"}'),
      await create(running, '{"templateID": "unknown", "metadata": 1}'),
    ]
    for (const answer of answers) {
      expect(answer.status).toBe(400)
      expect(await answer.json()).toMatchObject({ message: expect.stringMatching(/^validation error: /) })
    }
  })

  test('are bodies beyond 16 MiB, and not those up to it [A6]', async () => {
    const running = await startEmulator()
    expect((await create(running, padded(16 * 1024 * 1024))).status).toBe(201)
    expect((await create(running, padded(16 * 1024 * 1024 + 1))).status).toBe(413)
  })

  test('have classes in the SDK: 401, 429 and 503 their own, all others SandboxError [A10]', async () => {
    const { connection, emulator } = await startEmulator()
    const failure = async (status: number, body: object = {}) => {
      emulator.control.fault({
        match: { path: '/v2/sandboxes' },
        effect: { kind: 'answer', status, ...body },
      })
      return Sandbox.create('base', { ...connection, retries: 0 }).catch((error: unknown) => error)
    }
    expect(await failure(401)).toBeInstanceOf(AuthenticationError)
    expect(await failure(429)).toBeInstanceOf(RateLimitError)
    expect(await failure(503)).toBeInstanceOf(ServiceBusyError)
    for (const status of [400, 403, 404, 409, 500, 502, 504]) {
      const error = await failure(status)
      expect(error).toBeInstanceOf(SandboxError)
      expect(error).toMatchObject({ statusCode: status, message: `${status}: injected fault` })
    }
  })

  test('of look-ups are told by the code in the body, not by the status [L22]', async () => {
    const { emulator, connection } = await startEmulator()
    const handle = emulator.handle.bind(emulator)
    const stripped = await handle(
      new Request(`${connection.apiUrl}/sandboxes/unknown`, { headers: { 'X-API-KEY': connection.apiKey } }),
    )
    expect(await stripped.json()).toMatchObject({ code: 404 })
    await expect(Sandbox.getInfo('unknown', connection)).rejects.toMatchObject({ name: 'SandboxNotFoundError' })
  })
})

const creates = ({ emulator }: Running) => emulator.control.requests.filter(({ path }) => path === '/v2/sandboxes')

describe('a 429', () => {
  test('of the rate limit says when to come back, and the SDK does [A8]', async () => {
    const running = await startEmulator()
    running.emulator.control.fault({
      match: { path: '/v2/sandboxes' },
      effect: { kind: 'answer', status: 429, message: 'Rate limit exceeded', headers: { 'Retry-After': '0' } },
    })
    await expect(Sandbox.create('base', running.connection)).resolves.toBeDefined()
    expect(creates(running).map(({ status }) => status)).toEqual([429, 201])
  })

  test('of the plan does not, and the SDK gives up [A9]', async () => {
    const running = await startEmulator({ limits: { concurrentSandboxes: 0 } })
    await expect(Sandbox.create('base', running.connection)).rejects.toBeInstanceOf(RateLimitError)
    expect(creates(running).map(({ status }) => status)).toEqual([429])
  })
})
