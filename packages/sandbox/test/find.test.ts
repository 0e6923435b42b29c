import { HttpResponse } from 'msw'
import { describe, expect, test } from 'vitest'
import { apiError, deferred, failure, platform, recorder, sandboxOf } from './support/index.ts'

const session = { 'mastra-sandbox-id': 'session-1' }

describe('a start of a known logical id', () => {
  test('connects to the sandbox that runs', async () => {
    const e2b = platform()
    const running = e2b.add({ metadata: session })
    e2b.add({ metadata: { 'mastra-sandbox-id': 'session-2' } })
    const { events, onEvent } = recorder()
    const sandbox = sandboxOf({ id: 'session-1', onEvent })

    expect(await sandbox.start()).toEqual({ outcome: 'connected' })

    expect(sandbox.sandboxId).toBe(running.id)
    expect(running.connects).toEqual([{ timeout: 300 }])
    expect(events).toMatchObject([{ type: 'sandbox-connected', sandboxId: running.id, by: 'logical-id' }])
    expect(sandbox.lastBoot).toBeUndefined()
    expect(e2b.paths('POST').filter((path) => path === '/v2/sandboxes')).toEqual([])
  })

  test('resumes the sandbox that is paused, with the configured time to live', async () => {
    const e2b = platform()
    const paused = e2b.add({ metadata: session, state: 'paused' })

    await sandboxOf({ id: 'session-1', timeout: 120_000 }).start()

    expect(paused.state).toBe('running')
    expect(paused.connects).toEqual([{ timeout: 120 }])
  })

  test('takes the one created first, however often it was resumed since, and reports the others', async () => {
    const e2b = platform()
    const first = e2b.add({
      metadata: { ...session, 'warmbox-attempt-id': '0mx2r86b3-aaa' },
      startedAt: new Date('2026-03-01'),
    })
    const second = e2b.add({
      metadata: { ...session, 'warmbox-attempt-id': '0mx2r86b4-bbb' },
      startedAt: new Date('2026-01-01'),
    })
    const { events, onEvent } = recorder()
    const sandbox = sandboxOf({ id: 'session-1', onEvent })

    await sandbox.start()

    expect(sandbox.sandboxId).toBe(first.id)
    expect(events).toContainEqual({
      type: 'sandbox-duplicate',
      sandboxId: second.id,
      keptSandboxId: first.id,
      killed: true,
    })
    expect(e2b.only.id).toBe(first.id)
  })

  test('leaves and reports what other software created under the same id', async () => {
    const e2b = platform()
    const first = e2b.add({ metadata: session, startedAt: new Date('2026-01-01') })
    const foreign = e2b.add({ metadata: session, startedAt: new Date('2026-01-02') })
    const { events, onEvent } = recorder()

    await sandboxOf({ id: 'session-1', onEvent }).start()

    expect(events).toContainEqual({
      type: 'sandbox-duplicate',
      sandboxId: foreign.id,
      keptSandboxId: first.id,
      killed: false,
    })
    expect(e2b.sandboxes.size).toBe(2)
  })

  test('has its sandbox where one too many cannot be killed', async () => {
    const e2b = platform()
    const first = e2b.add({ metadata: { ...session, 'warmbox-attempt-id': '0mx2r86b3-aaa' } })
    e2b.add({ metadata: { ...session, 'warmbox-attempt-id': '0mx2r86b4-bbb' } })
    e2b.fail('DELETE', /^\/sandboxes/, () => apiError(500, 'no'))
    const { events, onEvent } = recorder()
    const sandbox = sandboxOf({ id: 'session-1', onEvent })

    await sandbox.start()

    expect(sandbox.sandboxId).toBe(first.id)
    expect(events).toContainEqual(expect.objectContaining({ type: 'warning', code: 'SANDBOX_MAY_REMAIN' }))
    expect(events).toContainEqual(expect.objectContaining({ type: 'sandbox-duplicate', killed: false }))
  })

  test('takes no sandbox that a server without filters lists too', async () => {
    const e2b = platform()
    const other = e2b.add({ metadata: { 'mastra-sandbox-id': 'session-2' } })
    e2b.faults.push(({ method, path }) => {
      if (method !== 'GET' || path !== '/v2/sandboxes') return undefined
      const { id, metadata } = other
      return HttpResponse.json([
        {
          sandboxID: id,
          templateID: 't',
          clientID: 'c',
          envdVersion: '0.6.13',
          metadata,
          state: 'running',
          startedAt: '2026-01-01T00:00:00Z',
          endAt: '2026-01-01T01:00:00Z',
          cpuCount: 2,
          memoryMB: 1024,
          diskSizeMB: 1,
        },
      ])
    })
    const sandbox = sandboxOf({ id: 'session-1' })

    await sandbox.start()

    expect(sandbox.sandboxId).not.toBe(other.id)
    expect(other.connects).toEqual([])
  })

  test('waits for a sandbox in transition', async () => {
    const e2b = platform()
    const running = e2b.add({ metadata: session, state: 'paused' })
    e2b.fail('POST', /connect$/, () => apiError(409, 'in transition'), 2)
    const sandbox = sandboxOf({ id: 'session-1' })

    await sandbox.start()

    expect(sandbox.sandboxId).toBe(running.id)
    expect(running.connects).toHaveLength(1)
  })

  test('gives up a paused sandbox that E2B cannot resume, and replaces it', async () => {
    const e2b = platform()
    const broken = e2b.add({ metadata: { ...session, 'warmbox-attempt-id': '0mx2r86b3-aaa' }, state: 'paused' })
    e2b.faults.push(({ path }) =>
      path === `/v2/sandboxes/${broken.id}/connect` ? apiError(400, 'no memory snapshot') : undefined,
    )
    const { events, onEvent } = recorder()
    const sandbox = sandboxOf({ id: 'session-1', onEvent })

    expect(await sandbox.start()).toEqual({ outcome: 'created' })
    await sandbox.executeCommand('true')

    expect(e2b.only.id).toBe(sandbox.sandboxId)
    expect(events).toContainEqual(expect.objectContaining({ type: 'sandbox-unusable', sandboxId: broken.id }))
  })

  test('fails where a running sandbox refuses what is asked of it', async () => {
    const e2b = platform()
    e2b.add({ metadata: session })
    e2b.fail('POST', /connect$/, () => apiError(400, 'timeout beyond the plan'))

    expect(await failure(sandboxOf({ id: 'session-1' }).start())).toMatchObject({ code: 'BAD_REQUEST' })
    expect(e2b.sandboxes.size).toBe(1)
  })

  test('goes on to the next one where the first is gone by then', async () => {
    const e2b = platform()
    const first = e2b.add({ metadata: session, startedAt: new Date('2026-01-01') })
    const second = e2b.add({ metadata: session, startedAt: new Date('2026-01-02') })
    e2b.fail('POST', new RegExp(`/${first.id}/connect`), () => apiError(404, 'gone'))
    const sandbox = sandboxOf({ id: 'session-1' })

    await sandbox.start()

    expect(sandbox.sandboxId).toBe(second.id)
  })

  test.each([
    [401, 'AUTHENTICATION'],
    [429, 'RATE_LIMITED'],
    [500, 'PLATFORM'],
  ])('fails where the lookup is answered %i: it does not mean that there is none', async (status, code) => {
    const e2b = platform()
    e2b.fail('GET', /^\/v2\/sandboxes$/, () => apiError(status, 'no list'))

    const error = await failure(sandboxOf({ id: 'session-1' }).start())
    expect(error).toMatchObject({ code, hint: expect.any(String) })
    expect(e2b.sandboxes.size).toBe(0)
  })
})

describe('a start of a given sandbox', () => {
  test('connects to it without a lookup', async () => {
    const e2b = platform()
    const running = e2b.add()
    const sandbox = sandboxOf({ sandboxId: running.id })

    await sandbox.start()

    expect(sandbox.sandboxId).toBe(running.id)
    expect(e2b.requests.map(({ path }) => path)).toEqual([`/v2/sandboxes/${running.id}/connect`])
  })

  test('goes on to the logical id where E2B says that it does not exist', async () => {
    const e2b = platform()
    const other = e2b.add({ metadata: session })
    const sandbox = sandboxOf({ id: 'session-1', sandboxId: 'vanished' })

    await sandbox.start()

    expect(sandbox.sandboxId).toBe(other.id)
  })

  test.each([400, 401, 409, 429, 500, 503])('fails closed where the connect is answered %i', async (status) => {
    const e2b = platform()
    const paused = e2b.add({ metadata: session, state: 'paused' })
    e2b.fail('POST', /connect$/, () => apiError(status, 'no'), Number.POSITIVE_INFINITY)
    const clock = { now: () => Date.now(), sleep: () => Promise.resolve() }
    const sandbox = sandboxOf({ sandboxId: paused.id, id: 'session-1', clock })

    await failure(sandbox.start())

    expect(sandbox.status).toBe('error')
    expect(e2b.paths('GET')).toEqual([`/sandboxes/${paused.id}`])
    expect(e2b.only.state).toBe('paused')
  })

  test.each(['start', 'stop', 'destroy'] as const)('that carries another id refuses to %s', async (method) => {
    const e2b = platform()
    const other = e2b.add({ metadata: { 'mastra-sandbox-id': 'session-2' }, state: 'paused' })
    const sandbox = sandboxOf({ sandboxId: other.id, id: 'session-1' })

    expect(await failure(sandbox[method]())).toMatchObject({ code: 'SANDBOX_FOREIGN', hint: expect.any(String) })

    expect(e2b.only).toMatchObject({ id: other.id, state: 'paused', connects: [] })
  })
})

describe('several starts of one logical id', () => {
  test('in one process make one sandbox', async () => {
    const e2b = platform()
    const sandboxes = Array.from({ length: 20 }, () => sandboxOf({ id: 'session-1' }))

    const results = await Promise.all(sandboxes.map((sandbox) => sandbox.start()))

    expect(e2b.sandboxes.size).toBe(1)
    expect(new Set(sandboxes.map(({ sandboxId }) => sandboxId))).toEqual(new Set([e2b.only.id]))
    expect(results.filter((result) => result?.outcome === 'created')).toHaveLength(1)
  })

  test('of different accounts make one each', async () => {
    const e2b = platform()
    const bothLookedUp = deferred()
    e2b.faults.push(async ({ method }) => {
      if (e2b.paths('GET').filter((path) => path === '/v2/sandboxes').length >= 2) bothLookedUp.resolve()
      if (method === 'POST') await bothLookedUp.promise
      return undefined
    })

    await Promise.all([
      sandboxOf({ id: 'session-1' }).start(),
      sandboxOf({ id: 'session-1', apiKey: 'e2b_another' }).start(),
    ])

    // The fake keeps one account, so the two are told apart by who created: nobody joined the other's start.
    expect(e2b.paths('POST').filter((path) => path === '/v2/sandboxes')).toHaveLength(2)
  })

  test('share the failure of the one that runs', async () => {
    const e2b = platform()
    e2b.fail('POST', /^\/v2\/sandboxes$/, () => apiError(403, 'banned'))

    const errors = await Promise.all(
      [sandboxOf({ id: 'session-1' }), sandboxOf({ id: 'session-1' })].map((sandbox) => failure(sandbox.start())),
    )

    expect(errors).toMatchObject([{ code: 'FORBIDDEN' }, { code: 'FORBIDDEN' }])
    expect(e2b.paths('POST')).toHaveLength(1)
  })

  test('go on without the one that was aborted', async () => {
    const e2b = platform()
    const abort = new AbortController()
    const aborted = failure(sandboxOf({ id: 'session-1' }).start({ abortSignal: abort.signal }))
    const other = sandboxOf({ id: 'session-1' })
    const started = other.start()
    abort.abort()

    expect(await aborted).toMatchObject({ code: 'ABORTED' })
    await started
    expect(other.sandboxId).toBe(e2b.only.id)
  })

  test('in another process at the same time keep the oldest: the younger is killed by who made it', async () => {
    const e2b = platform()
    const older = { ...session, 'warmbox-attempt-id': '000000001-elsewhere' }
    e2b.faults.push(({ method, path }) => {
      const creates = method === 'POST' && path === '/v2/sandboxes'
      if (creates && e2b.sandboxes.size === 0) e2b.add({ id: 'elsewhere', metadata: older })
      return undefined
    })
    const { events, onEvent } = recorder()
    const sandbox = sandboxOf({ id: 'session-1', onEvent })

    await sandbox.start()
    await sandbox.executeCommand('true')

    expect(sandbox.sandboxId).toBe('elsewhere')
    expect([...e2b.sandboxes.keys()]).toEqual(['elsewhere'])
    expect(events).toContainEqual(expect.objectContaining({ type: 'sandbox-duplicate', killed: true }))
  })

  test('in another process at the same time leave the older one where it is', async () => {
    const e2b = platform()
    e2b.faults.push(({ method, path }) => {
      const creates = method === 'POST' && path === '/v2/sandboxes'
      if (creates && e2b.sandboxes.size === 0)
        e2b.add({ id: 'late', metadata: session, startedAt: new Date('2999-01-01') })
      return undefined
    })
    const sandbox = sandboxOf({ id: 'session-1' })

    await sandbox.start()
    await sandbox.executeCommand('true')

    expect(sandbox.sandboxId).not.toBe('late')
    expect(e2b.sandboxes.size).toBe(2)
  })
})
