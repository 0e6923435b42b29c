import { AuthenticationError, RateLimitError, Sandbox, SandboxError } from 'e2b'
import { describe, expect, test } from 'vitest'
import { build, request } from '../support/builds.ts'
import { startEmulator } from '../support/emulator.ts'

describe('Sandbox.create', () => {
  test('boots a ready build, secured, for 300 seconds [S1]', async () => {
    const { api, connection } = await startEmulator()
    const ready = await build({ api }, 'name:v1')
    const { data, response } = await api.POST('/v2/sandboxes', { body: { templateID: 'name:v1' } })
    expect(response.status).toBe(201)
    expect(data).toMatchObject({
      templateID: ready.templateID,
      alias: 'name',
      envdAccessToken: expect.any(String),
      domain: null,
    })
    const { startedAt, endAt } = await Sandbox.getInfo(data?.sandboxID ?? '', connection)
    expect(endAt.getTime() - startedAt.getTime()).toBe(300_000)
  })

  test('boots the promoted template base [S8]', async () => {
    const { connection } = await startEmulator()
    const sandbox = await Sandbox.create('base', connection)
    expect(await sandbox.isRunning()).toBe(true)
  })

  test.each([
    ['unknown', "404: template 'unknown' not found"],
    ['acme/unknown', "404: template 'acme/unknown' not found"],
    ['requested:v1', "404: tag 'v1' does not exist for template 'requested'"],
  ])('of %s is a plain SandboxError with statusCode 404 [S3] [S4] [S5]', async (ref, message) => {
    const { api, connection } = await startEmulator()
    await request(api, 'requested:v1')
    const failure = await Sandbox.create(ref, connection).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(SandboxError)
    expect(failure).toMatchObject({ statusCode: 404, message })
  })

  test("of another team's private template reads as not found [S3]", async () => {
    const { emulator, connection } = await startEmulator()
    emulator.control.addForeignTemplate({ name: 'theirs', namespace: 'them', public: false })
    emulator.control.addForeignTemplate({ name: 'shared', namespace: 'them', public: true })
    await expect(Sandbox.create('them/theirs', connection)).rejects.toMatchObject({ statusCode: 404 })
    await expect(Sandbox.create('them/shared', connection)).resolves.toBeDefined()
  })

  test.each([
    [{ templateID: 'base', timeout: 0 }, 'Timeout must be greater than 0'],
    [{ templateID: 'base', timeout: 24 * 3600 + 1 }, 'Timeout cannot be greater than 24 hours'],
    [{ templateID: 'bad name!' }, 'must contain only'],
    [{ templateID: 'base', autoResume: { enabled: true } }, 'autoResume requires autoPause'],
    [
      { templateID: 'base', autoPause: true, autoPauseMemory: false, autoResume: { enabled: true } },
      'cannot be combined',
    ],
  ])('%j is a 400 [S6] [L24]', async (body, message) => {
    const { api } = await startEmulator()
    const { error, response } = await api.POST('/v2/sandboxes', { body })
    expect(response.status).toBe(400)
    expect(error?.message).toContain(message)
  })

  test('over the concurrency limit is a 429 without Retry-After [S7]', async () => {
    const { connection, api } = await startEmulator({ limits: { concurrentSandboxes: 1 } })
    await Sandbox.create('base', connection)
    const { response } = await api.POST('/v2/sandboxes', { body: { templateID: 'base' } })
    expect(response.status).toBe(429)
    expect(response.headers.get('retry-after')).toBeNull()
    await expect(Sandbox.create('base', connection)).rejects.toBeInstanceOf(RateLimitError)
  })

  test('counts sandboxes that are still starting against the limit [S7]', async () => {
    const { connection } = await startEmulator({ limits: { concurrentSandboxes: 1 } })
    const outcomes = await Promise.allSettled([Sandbox.create('base', connection), Sandbox.create('base', connection)])
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  })

  test('through the v1 route lives 15 seconds and is open unless secured [S2]', async () => {
    const { api, connection } = await startEmulator()
    const { data } = await api.POST('/sandboxes', { body: { templateID: 'base' } })
    expect(data?.envdAccessToken).toBeUndefined()
    const { startedAt, endAt } = await Sandbox.getInfo(data?.sandboxID ?? '', connection)
    expect(endAt.getTime() - startedAt.getTime()).toBe(15_000)
    const secured = await api.POST('/sandboxes', { body: { templateID: 'base', secure: true } })
    expect(secured.data?.envdAccessToken).toEqual(expect.any(String))
  })
})

describe('the API key', () => {
  test('missing or wrong is a 401 with a two-line message [A1]', async () => {
    const { connection, emulator } = await startEmulator()
    await expect(Sandbox.create('base', { ...connection, apiKey: 'e2b_00' })).rejects.toBeInstanceOf(
      AuthenticationError,
    )
    const response = await emulator.fetch(`${connection.apiUrl}/v2/sandboxes`)
    expect(response.status).toBe(401)
    const body: unknown = await response.json()
    expect(body).toMatchObject({ code: 401, message: expect.stringMatching(/^[^\n]+\n[^\n]+$/) })
  })

  test('differs from run to run, and is the one given [A2]', async () => {
    const [one, two] = [await startEmulator(), await startEmulator()]
    expect(one.connection.apiKey).toMatch(/^e2b_[0-9a-f]{40}$/)
    expect(one.connection.apiKey).not.toBe(two.connection.apiKey)
    expect((await startEmulator({ apiKey: 'e2b_feed' })).connection.apiKey).toBe('e2b_feed')
  })
})

describe('request bodies', () => {
  test.each([
    ['{"timeout": 10}', '"templateID" property is missing'],
    ['{"templateID": 1}', '"templateID" must be a string'],
    ['{"templateID": "base", "metadata": {"a": 1}}', '"metadata/a" must be a string'],
    ['{"templateID": "base", "timeout": 1.5}', '"timeout" must be an integer'],
    ['[]', 'the body must be an object'],
    ['{', 'failed to decode request body'],
  ])('%s is refused before anything happens [A5]', async (body, problem) => {
    const { connection, emulator } = await startEmulator()
    const response = await fetch(`${connection.apiUrl}/v2/sandboxes`, {
      method: 'POST',
      headers: { 'X-API-KEY': connection.apiKey, 'content-type': 'application/json' },
      body,
    })
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({
      code: 400,
      message: `validation error: request body has an error: ${problem}`,
    })
    expect(emulator.control.sandboxes()).toEqual([])
  })
})

describe('operations that are not emulated', () => {
  test('answer 501 and name the route', async () => {
    const { api, connection } = await startEmulator()
    const { response, error } = await api.GET('/volumes')
    expect(response.status).toBe(501)
    expect(error?.message).toBe('the emulator does not answer GET /volumes: no network volumes are emulated')
    const unknown = await fetch(`${connection.apiUrl}/v9/anything`, { headers: { 'X-API-KEY': connection.apiKey } })
    expect(unknown.status).toBe(501)
    expect(await unknown.json()).toMatchObject({ message: expect.stringContaining('GET /v9/anything') })
  })
})
