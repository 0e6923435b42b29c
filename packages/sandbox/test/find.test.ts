import { describe, expect, test } from 'vitest'
import { apiError, failure, platform, recorder, sandboxOf } from './support/index.ts'

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
      killed: false,
    })
    expect(e2b.sandboxes.size).toBe(2)
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

    expect(await failure(sandboxOf({ id: 'session-1' }).start())).toMatchObject({ code })
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

  test.each([401, 409, 429, 500, 503])('fails closed where the connect is answered %i', async (status) => {
    const e2b = platform()
    const running = e2b.add()
    e2b.fail('POST', /connect$/, () => apiError(status, 'no'))
    const sandbox = sandboxOf({ sandboxId: running.id, id: 'session-1' })

    await failure(sandbox.start())

    expect(sandbox.status).toBe('error')
    expect(e2b.paths('GET')).toEqual([])
    expect(e2b.sandboxes.size).toBe(1)
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
