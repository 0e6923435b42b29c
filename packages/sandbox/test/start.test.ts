import { Template } from 'e2b'
import { describe, expect, test, vi } from 'vitest'
import { API_KEY, apiError, deferred, eventTypes, failure, platform, recorder, sandboxOf } from './support/index.ts'

/** As a JavaScript host may write it, or TypeScript where the type is `void`. */
const rejecting: () => unknown = () => Promise.reject(new Error('defect'))

describe('a first start', () => {
  test('creates a sandbox from the template and says so', async () => {
    const e2b = platform()
    const { events, onEvent } = recorder()
    const sandbox = sandboxOf({ id: 'session-1', onEvent })

    const result = await sandbox.start()

    expect(result).toEqual({ outcome: 'created' })
    expect(sandbox.status).toBe('running')
    expect(sandbox.sandboxId).toBe(e2b.only.id)
    expect(sandbox.e2b.sandboxId).toBe(e2b.only.id)
    expect(sandbox.lastBoot).toMatchObject({ ref: 'warm:v1', rung: 'exact', attempts: [{ outcome: 'booted' }] })
    expect(eventTypes(events)).toContain('sandbox-created')
  })

  test('states timeout, lifecycle and the ids it is found by', async () => {
    const e2b = platform()

    await sandboxOf({ id: 'session-1', metadata: { team: 'a', depth: 2 }, env: { COLOR: 'blue' } }).start()

    const { metadata, create } = e2b.only
    expect(metadata).toEqual({
      team: 'a',
      depth: '2',
      'mastra-sandbox-id': 'session-1',
      'warmbox-attempt-id': expect.stringMatching(/^[0-9a-z]{9}-[0-9a-f-]{36}$/),
    })
    expect(create).toMatchObject({
      templateID: 'warm:v1',
      timeout: 300,
      autoPause: true,
      autoResume: { enabled: false },
      envVars: { COLOR: 'blue' },
    })
  })

  test('states what the options say instead of the defaults', async () => {
    const e2b = platform()

    await sandboxOf({ timeout: 60_000, lifecycle: { onTimeout: 'kill' } }).start()

    expect(e2b.only.create).toMatchObject({ timeout: 60, autoPause: false, autoResume: { enabled: false } })
  })

  test('needs one request where nobody else can know the id, and two in turn where one can', async () => {
    const e2b = platform()

    await sandboxOf().start()
    expect(e2b.requests.map(({ method, path }) => `${method} ${path}`)).toEqual(['POST /v2/sandboxes'])

    e2b.requests.length = 0
    await sandboxOf({ id: 'session-1' }).start()
    expect(e2b.requests.slice(0, 2).map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /v2/sandboxes',
      'POST /v2/sandboxes',
    ])
  })

  test('resolves the template while it looks for the sandbox, and creates only afterwards', async () => {
    const e2b = platform()
    const looked = deferred()
    const abort = new AbortController()
    const resolved = deferred()
    e2b.faults.push(async ({ method, path }) => {
      if (method === 'GET' && path === '/v2/sandboxes') await looked.promise
      return undefined
    })
    const template = {
      resolveSpec: async () => {
        resolved.resolve()
        throw new Error('no repository')
      },
    }
    const sandbox = sandboxOf({ id: 'session-1', template })
    const started = failure(sandbox.start({ abortSignal: abort.signal }))

    await resolved.promise
    expect(e2b.paths('POST')).toEqual([])

    abort.abort()
    expect(await started).toMatchObject({ code: 'ABORTED' })
    looked.resolve()
    expect(e2b.paths('POST')).toEqual([])
  })

  test('builds nothing for a session whose sandbox is found', async () => {
    const e2b = platform()
    const found = e2b.add({ metadata: { 'mastra-sandbox-id': 'session-1' } })
    const looked = deferred()
    const asked = deferred()
    e2b.faults.push(async ({ method, path }) => {
      if (path === '/templates/unbuilt/tags') asked.resolve()
      if (method === 'GET' && path === '/v2/sandboxes') await looked.promise
      return undefined
    })
    const { events, onEvent } = recorder()
    const template = { ref: 'unbuilt:v1', template: Template().fromTemplate('base') }
    const sandbox = sandboxOf({ id: 'session-1', template, onEvent })
    const started = sandbox.start()

    await asked.promise
    await expect.poll(() => e2b.paths('GET').some((path) => path.includes('unbuilt'))).toBe(true)
    // The resolution has its answer by now and would go on to build.
    for (let turns = 0; turns < 50; turns += 1) await new Promise((resolve) => setImmediate(resolve))
    looked.resolve()
    await started

    expect(sandbox.sandboxId).toBe(found.id)
    expect(e2b.paths('POST')).toEqual([`/v2/sandboxes/${found.id}/connect`])
    expect(eventTypes(events)).toEqual(['sandbox-connected'])
  })

  test('is not disturbed by an async listener that rejects', async () => {
    platform()
    const unhandled = vi.fn<() => void>()
    process.on('unhandledRejection', unhandled)
    try {
      const sandbox = sandboxOf({ onEvent: rejecting })
      await sandbox.start()
      await sandbox.destroy()
      // Node tells of unhandled rejections once the microtasks are done.
      await new Promise((resolve) => setImmediate(resolve))
      expect(sandbox.status).toBe('destroyed')
      expect(unhandled).not.toHaveBeenCalled()
    } finally {
      process.off('unhandledRejection', unhandled)
    }
  })

  test('without an API key says what to set, before any request', async () => {
    const e2b = platform()
    vi.stubEnv('E2B_API_KEY', '')

    const error = await failure(sandboxOf({ apiKey: undefined }).start())

    expect(error).toMatchObject({
      code: 'MISSING_API_KEY',
      message: 'No E2B API key was given',
      hint: 'Pass apiKey, or set the environment variable E2B_API_KEY',
    })
    expect(e2b.requests).toEqual([])
    vi.unstubAllEnvs()
  })

  test.each([
    [401, 'AUTHENTICATION'],
    [403, 'FORBIDDEN'],
    [429, 'RATE_LIMITED'],
    [503, 'SERVICE_BUSY'],
    [400, 'BAD_REQUEST'],
  ])('reports a create answered %i as %s and creates nothing else', async (status, code) => {
    const e2b = platform()
    e2b.fail('POST', /^\/v2\/sandboxes$/, () => apiError(status, 'refused'))

    const error = await failure(sandboxOf({ id: 'session-1' }).start())

    expect(error).toMatchObject({ code, hint: expect.any(String) })
    expect(e2b.paths('POST')).toEqual(['/v2/sandboxes'])
    expect(e2b.sandboxes.size).toBe(0)
  })

  test('tells no API key in an error', async () => {
    const e2b = platform()
    e2b.fail('POST', /^\/v2\/sandboxes$/, () => apiError(400, `bad key ${API_KEY}`))

    const error = await failure(sandboxOf().start())

    expect(error).toMatchObject({ message: expect.stringContaining('bad key ***') })
    expect(JSON.stringify(error)).not.toContain(API_KEY)
    expect(error).toMatchObject({ cause: { message: expect.not.stringContaining(API_KEY) } })
  })
})
