import { Workspace } from '@mastra/core/workspace'
import { describe, expect, test, vi } from 'vitest'
import { E2BSandbox } from '@warmbox/sandbox'
import { apiError, connection, deferred, eventTypes, failure, platform, recorder, sandboxOf } from './support/index.ts'

const session = { 'mastra-sandbox-id': 'session-1' }

/** A platform that holds the first creates back until they are released. */
function held() {
  const e2b = platform()
  const arrived = deferred()
  const release = deferred()
  e2b.faults.push(async ({ method, path }) => {
    if (method !== 'POST' || path !== '/v2/sandboxes') return undefined
    arrived.resolve()
    await release.promise
    return undefined
  })
  return { e2b, arrived: arrived.promise, release: () => release.resolve() }
}

describe('stop', () => {
  test('pauses; the next start resumes the same sandbox in one request', async () => {
    const e2b = platform()
    const sandbox = sandboxOf({ id: 'session-1' })
    await sandbox.start()
    const { id } = e2b.only

    await sandbox._stop()

    expect(sandbox.status).toBe('stopped')
    expect(e2b.only.state).toBe('paused')
    expect(sandbox.sandboxId).toBe(id)
    expect(() => sandbox.e2b).toThrow(expect.objectContaining({ code: 'NOT_STARTED' }))

    e2b.requests.length = 0
    expect(await sandbox.start()).toEqual({ outcome: 'connected' })
    expect(e2b.only.state).toBe('running')
    expect(e2b.requests.map(({ path }) => path)).toEqual([`/v2/sandboxes/${id}/connect`])
  })

  test('called directly leaves the same state', async () => {
    const e2b = platform()
    const sandbox = sandboxOf()
    await sandbox.start()

    await sandbox.stop()

    expect(sandbox.status).toBe('stopped')
    expect(e2b.only.state).toBe('paused')
    await sandbox.executeCommand('true')
    expect(e2b.only.state).toBe('running')
  })

  test('of a sandbox that is paused or gone already succeeds', async () => {
    const e2b = platform()
    const paused = sandboxOf()
    await paused.start()
    e2b.only.state = 'paused'
    await paused._stop()

    const gone = sandboxOf()
    await gone.start()
    e2b.sandboxes.clear()
    await gone._stop()

    expect([paused.status, gone.status]).toEqual(['stopped', 'stopped'])
  })

  test('reports what E2B refuses', async () => {
    const e2b = platform()
    const sandbox = sandboxOf()
    await sandbox.start()
    e2b.fail('POST', /pause$/, () => apiError(503, 'busy'))

    expect(await failure(sandbox._stop())).toMatchObject({ code: 'SERVICE_BUSY' })
    expect(sandbox.status).toBe('error')
  })

  test('of a sandbox in transition is asked for until it is paused', async () => {
    const e2b = platform()
    const sandbox = sandboxOf({ clock: { now: () => Date.now(), sleep: () => Promise.resolve() } })
    await sandbox.start()
    e2b.fail('POST', /pause$/, () => apiError(409, 'being snapshot'), 2)
    await sandbox._stop()
    expect(e2b.only.state).toBe('paused')

    await sandbox.start()
    e2b.fail('POST', /pause$/, () => apiError(409, 'being snapshot'), Number.POSITIVE_INFINITY)
    expect(await failure(sandbox._stop())).toMatchObject({ code: 'CONFLICT' })
    expect(e2b.only.state).toBe('running')
  })

  test('of a session started elsewhere pauses it without waking anything', async () => {
    const e2b = platform()
    const elsewhere = e2b.add({ metadata: session })

    await sandboxOf({ id: 'session-1' }).stop()

    expect(elsewhere.state).toBe('paused')
    expect(elsewhere.connects).toEqual([])
  })

  test("at Mastra's shutdown leaves a session that was not used here to who uses it", async () => {
    const e2b = platform()
    const elsewhere = e2b.add({ metadata: session })

    await new Workspace({ sandbox: sandboxOf({ id: 'session-1' }) }).stop()

    expect(elsewhere.state).toBe('running')
    expect(e2b.requests).toEqual([])
  })
})

describe('destroy', () => {
  test('kills, and the sandbox starts no more', async () => {
    const e2b = platform()
    const { events, onEvent } = recorder()
    const sandbox = sandboxOf({ onEvent })
    await sandbox.start()

    await sandbox._destroy()

    expect(e2b.sandboxes.size).toBe(0)
    expect(sandbox.status).toBe('destroyed')
    expect(sandbox.sandboxId).toBeUndefined()
    expect(eventTypes(events).at(-1)).toBe('sandbox-destroyed')
    for (const start of [() => sandbox.start(), () => sandbox.executeCommand('true')]) {
      expect(await failure(start())).toMatchObject({
        code: 'DESTROYED',
        hint: expect.stringContaining('new E2BSandbox'),
      })
    }
  })

  test('kills a paused sandbox too', async () => {
    const e2b = platform()
    const sandbox = sandboxOf()
    await sandbox.start()
    await sandbox._stop()

    await sandbox._destroy()

    expect(e2b.sandboxes.size).toBe(0)
  })

  test.each([
    ['by itself', (sandbox: E2BSandbox) => sandbox.destroy()],
    ['by its workspace', (sandbox: E2BSandbox) => new Workspace({ sandbox }).destroy()],
    ['after a shutdown', (sandbox: E2BSandbox) => sandbox._stop().then(() => sandbox._destroy())],
  ])('of a session started elsewhere kills it %s, and wakes nothing', async (_, destroy) => {
    const e2b = platform()
    const elsewhere = e2b.add({ metadata: session, state: 'paused' })
    e2b.add({ metadata: { 'mastra-sandbox-id': 'session-2' } })
    const sandbox = sandboxOf({ id: 'session-1' })

    await destroy(sandbox)

    expect(e2b.only.metadata).toEqual({ 'mastra-sandbox-id': 'session-2' })
    expect(elsewhere.connects).toEqual([])
    expect(sandbox.status).toBe('destroyed')
  })

  test('that fails before any start can be repeated', async () => {
    const e2b = platform()
    e2b.add({ metadata: session })
    e2b.fail('DELETE', /^\/sandboxes/, () => apiError(503, 'busy'))
    const sandbox = sandboxOf({ id: 'session-1' })

    expect(await failure(sandbox._destroy())).toMatchObject({ code: 'SERVICE_BUSY' })
    expect(sandbox.status).toBe('error')
    await sandbox._destroy()

    expect(e2b.sandboxes.size).toBe(0)
  })

  test('of what was never started and has no id of its own asks for nothing', async () => {
    const e2b = platform()
    const sandbox = sandboxOf()

    await sandbox._destroy()

    expect(sandbox.status).toBe('destroyed')
    expect(e2b.requests).toEqual([])
  })

  test('after a start that failed for want of a key has nothing to do', async () => {
    const e2b = platform()
    vi.stubEnv('E2B_API_KEY', '')
    const sandbox = sandboxOf({ id: 'session-1', apiKey: undefined })
    await failure(sandbox.start())

    await sandbox._destroy()

    expect(sandbox.status).toBe('destroyed')
    expect(e2b.requests).toEqual([])
    vi.unstubAllEnvs()
  })
})

describe('what is final', () => {
  const ends = {
    stop: (sandbox: E2BSandbox) => sandbox.stop(),
    'a workspace that stops': (sandbox: E2BSandbox) => sandbox._stop(),
    destroy: (sandbox: E2BSandbox) => sandbox.destroy(),
    'a workspace that destroys': (sandbox: E2BSandbox) => sandbox._destroy(),
  }
  const orders = (['destroy', 'a workspace that destroys'] as const).flatMap((destroy) =>
    (['stop', 'a workspace that stops'] as const).flatMap((stop) => [
      [stop, destroy] as const,
      [destroy, stop] as const,
    ]),
  )

  test.each(orders)('is a destroy: %s and %s at once', async (first, second) => {
    for (const isPaused of [false, true]) {
      const e2b = platform()
      const sandbox = sandboxOf({ id: 'session-1' })
      await sandbox.start()
      if (isPaused) await sandbox.stop()

      await Promise.all([ends[first](sandbox), ends[second](sandbox)])

      expect(sandbox.status).toBe('destroyed')
      expect(e2b.sandboxes.size).toBe(0)
      expect(await failure(sandbox.executeCommand('true'))).toMatchObject({ code: 'DESTROYED' })
    }
  })

  test.each(['destroy', 'a workspace that destroys'] as const)('is %s before a start made at once', async (destroy) => {
    const e2b = platform()
    const sandbox = sandboxOf({ id: 'session-1' })

    const ended = ends[destroy](sandbox)
    const starts = [() => sandbox.start(), () => sandbox.start(), () => sandbox.executeCommand('true')]
    const failures = starts.map((start) => failure(start()))
    await ended

    expect(await Promise.all(failures)).toMatchObject(starts.map(() => ({ code: 'DESTROYED' })))
    expect(sandbox.status).toBe('destroyed')
    expect(e2b.sandboxes.size).toBe(0)
  })

  test('is a destroy of a paused sandbox for a command made at once', async () => {
    platform()
    const sandbox = sandboxOf()
    await sandbox.start()
    await sandbox._stop()

    const ended = sandbox._destroy()
    const commands = [
      failure(sandbox.executeCommand('true')),
      failure(Promise.resolve().then(() => sandbox.e2b.kill())),
    ]

    expect(await Promise.all(commands)).toMatchObject([{ code: 'DESTROYED' }, { code: 'DESTROYED' }])
    await ended
  })

  test('is no reason to touch a successor', async () => {
    const e2b = platform()
    const sandbox = sandboxOf({ id: 'session-1' })
    await sandbox.start()
    await sandbox.destroy()
    await sandboxOf({ id: 'session-1' }).start()

    await sandbox.stop()
    await sandbox._stop()
    await sandbox.destroy()

    expect(e2b.only.state).toBe('running')
    expect(sandbox.status).toBe('destroyed')
  })

  test('lets the hooks of the end run commands', async () => {
    const e2b = platform()
    const commands: string[] = []
    e2b.onStart = (process) => {
      commands.push(process.command)
      process.exit(0)
    }
    const hook = (command: string) => async () => void (await sandbox.executeCommand(command))
    const sandbox = sandboxOf({ onStop: hook('flush'), onDestroy: hook('farewell') })
    await sandbox.start()
    await sandbox._stop()
    await sandbox.start()

    await sandbox._destroy()

    expect(commands).toEqual(['flush', 'farewell'])
  })
})

describe('a start in flight', () => {
  test('is ended by destroy, and the sandbox that arrives afterwards is killed', async () => {
    const { e2b, arrived, release } = held()
    const sandbox = sandboxOf({ id: 'session-1' })
    const started = failure(sandbox.start())
    await arrived

    const destroyed = sandbox._destroy()
    expect(await started).toMatchObject({ code: 'ABORTED', message: 'Starting the sandbox was ended by destroy' })
    release()
    await destroyed

    expect(sandbox.status).toBe('destroyed')
    expect(e2b.paths('POST')).toEqual(['/v2/sandboxes'])
    expect(e2b.sandboxes.size).toBe(0)
  })

  test('is ended by stop; the next start makes its own sandbox', async () => {
    const { e2b, arrived, release } = held()
    const sandbox = sandboxOf({ id: 'session-1' })
    const started = failure(sandbox.start())
    await arrived

    await Promise.all([sandbox._stop(), started])
    expect(sandbox.status).toBe('stopped')
    release()
    await sandbox.start()

    expect(sandbox.sandboxId).toBe(e2b.only.id)
    expect(e2b.paths('DELETE')).toHaveLength(1)
  })

  test('is ended by its signal at once', async () => {
    const { e2b, arrived, release } = held()
    const abort = new AbortController()
    const sandbox = sandboxOf()
    const started = failure(sandbox.start({ abortSignal: abort.signal }))
    await arrived

    abort.abort(new Error('the user left'))
    expect(await started).toMatchObject({ code: 'ABORTED', cause: { message: 'the user left' } })
    release()
    await sandbox._destroy()

    expect(e2b.sandboxes.size).toBe(0)
  })

  test('sends nothing where its signal has fired before', async () => {
    const e2b = platform()
    const sandbox = sandboxOf()

    expect(await failure(sandbox.start({ abortSignal: AbortSignal.abort() }))).toMatchObject({ code: 'ABORTED' })

    expect(e2b.requests).toEqual([])
    expect(sandbox.status).toBe('pending')
  })

  test('is shared by concurrent calls, each of which may leave alone', async () => {
    const { e2b, arrived, release } = held()
    const abort = new AbortController()
    const sandbox = sandboxOf()
    const first = sandbox.start()
    const second = failure(sandbox.start({ abortSignal: abort.signal }))
    await arrived
    abort.abort()
    expect(await second).toMatchObject({ code: 'ABORTED' })
    release()

    expect(await first).toEqual({ outcome: 'created' })
    expect(e2b.sandboxes.size).toBe(1)
  })

  test('of which a create then fails ambiguously leaves no sandbox either', async () => {
    const { e2b, arrived, release } = held()
    e2b.faults.push(({ method, path, body }) => {
      if (method !== 'POST' || path !== '/v2/sandboxes') return undefined
      const metadata = typeof body === 'object' && body !== null && 'metadata' in body ? body.metadata : {}
      e2b.add({ metadata: Object.assign({}, metadata) })
      return apiError(504, 'late')
    })
    const sandbox = sandboxOf()
    const started = failure(sandbox.start())
    await arrived
    const destroyed = sandbox._destroy()
    await started
    release()
    await destroyed

    expect(e2b.sandboxes.size).toBe(0)
  })
})

describe('the start hook', () => {
  test('is told the outcome and may run commands', async () => {
    platform()
    const outcomes: unknown[] = []
    const sandbox = sandboxOf({
      id: 'session-1',
      onStart: async ({ sandbox: started, outcome }) => {
        outcomes.push(outcome)
        await started.executeCommand?.('prepare')
      },
    })

    await sandbox.start()
    await sandbox._stop()
    await sandbox.start()

    expect(outcomes).toEqual(['created', 'connected'])
  })

  test('that meets a dead sandbox fails the start instead of waiting for itself', async () => {
    const e2b = platform()
    const sandbox = sandboxOf({
      onStart: async ({ sandbox: started }) => {
        e2b.sandboxes.clear()
        await started.executeCommand?.('prepare')
      },
    })

    await expect(sandbox.start()).rejects.toMatchObject({ cause: { code: 'SANDBOX_GONE' } })
  })
})

describe('printing a sandbox', () => {
  test('shows no credentials', async () => {
    platform()
    const sandbox = new E2BSandbox({
      ...connection,
      template: 'warm:v1',
      id: 'session-1',
      env: { TOKEN: 'env-secret' },
    })
    await sandbox.start()
    const { inspect } = await import('node:util')

    for (const text of [JSON.stringify({ sandbox }), inspect({ sandbox }, { depth: 9 }), inspect(sandbox.processes)]) {
      expect(text).not.toContain(connection.apiKey)
      expect(text).not.toContain('env-secret')
      expect(text).toContain('session-1')
    }
  })
})
