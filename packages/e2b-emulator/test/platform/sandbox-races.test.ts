import { Sandbox, SandboxNotFoundError } from 'e2b'
import { describe, expect, test } from 'vitest'
import { createManualClock } from '@warmbox/e2b-emulator'
import { startEmulator } from '../support/emulator.ts'
import { createHeldRuntime } from '../support/held-runtime.ts'

const status = async (call: Promise<{ response: Response }>) => (await call).response.status

async function start() {
  const { runtime, hold } = createHeldRuntime()
  const running = await startEmulator({ runtime, clock: createManualClock() })
  const { connection, api } = running
  const list = async (options: Parameters<typeof Sandbox.list>[0] = {}) =>
    (await Sandbox.list({ ...connection, ...options }).nextItems()).map(({ sandboxId, state }) => ({
      sandboxId,
      state,
    }))
  /** The statuses of calls whose difference the SDK hides. */
  const callsOn = (sandboxID: string) => {
    const params = { params: { path: { sandboxID } } }
    return {
      get: () => status(api.GET('/sandboxes/{sandboxID}', params)),
      kill: () => status(api.DELETE('/sandboxes/{sandboxID}', params)),
      pause: () => status(api.POST('/sandboxes/{sandboxID}/pause', { ...params, body: {} })),
      timeout: () => status(api.POST('/sandboxes/{sandboxID}/timeout', { ...params, body: { timeout: 60 } })),
      refresh: () => status(api.POST('/sandboxes/{sandboxID}/refreshes', { ...params, body: { duration: 60 } })),
      snapshot: () => status(api.POST('/sandboxes/{sandboxID}/snapshots', { ...params, body: {} })),
      fork: () => status(api.POST('/sandboxes/{sandboxID}/fork', { ...params, body: {} })),
      network: () => status(api.PUT('/sandboxes/{sandboxID}/network', { ...params, body: {} })),
      connect: (body: { memory?: boolean } = {}) =>
        status(api.POST('/v2/sandboxes/{sandboxID}/connect', { ...params, body })),
    }
  }
  /** Resolves once so many calls of this kind have come in, so that what a test does next comes after them. */
  const arrived = (method: string, path: RegExp, count = 1) =>
    expect
      .poll(
        () =>
          running.emulator.control.requests.filter((entry) => entry.method === method && path.test(entry.path)).length,
      )
      .toBe(count)
  return { ...running, hold, list, callsOn, arrived }
}

describe('while a sandbox is being paused', () => {
  test('it shows as paused, and every call that would change it is a conflict [L4] [L6] [L19]', async () => {
    const { connection, hold, list, callsOn } = await start()
    const sandbox = await Sandbox.create('base', connection)
    const calls = callsOn(sandbox.sandboxId)
    const held = hold('pause')
    const pausing = sandbox.pause()
    await held.entered
    expect((await sandbox.getInfo()).state).toBe('paused')
    expect(await list()).toEqual([{ sandboxId: sandbox.sandboxId, state: 'paused' }])
    for (const call of [calls.pause, calls.timeout, calls.refresh, calls.snapshot, calls.fork, calls.network]) {
      expect(await call()).toBe(409)
    }
    expect(await sandbox.pause()).toBe(false)
    held.release()
    expect(await pausing).toBe(true)
  })

  test('connect waits, and then resumes it [L11] [L40]', async () => {
    const { connection, hold, callsOn, arrived } = await start()
    const sandbox = await Sandbox.create('base', connection)
    const held = hold('pause')
    const pausing = sandbox.pause()
    await held.entered
    const connecting = callsOn(sandbox.sandboxId).connect()
    await arrived('POST', /connect$/)
    held.release()
    expect(await pausing).toBe(true)
    expect(await connecting).toBe(201)
    expect((await sandbox.getInfo()).state).toBe('running')
  })

  test('kill waits for it, and look-ups find nothing from the first moment [L20] [L39]', async () => {
    const { connection, hold, list } = await start()
    const sandbox = await Sandbox.create('base', connection)
    const held = hold('pause')
    const pausing = sandbox.pause()
    await held.entered
    const killing = sandbox.kill()
    await expect.poll(() => list()).toEqual([])
    await expect(sandbox.getInfo()).rejects.toBeInstanceOf(SandboxNotFoundError)
    held.release()
    expect(await pausing).toBe(true)
    expect(await killing).toBe(true)
    await expect(Sandbox.connect(sandbox.sandboxId, connection)).rejects.toBeInstanceOf(SandboxNotFoundError)
  })

  test('a failure leaves it running', async () => {
    const { connection, hold, callsOn } = await start()
    const sandbox = await Sandbox.create('base', connection)
    const held = hold('pause')
    held.release(new Error('no room'))
    expect(await callsOn(sandbox.sandboxId).pause()).toBe(500)
    expect((await sandbox.getInfo()).state).toBe('running')
    expect(await sandbox.pause()).toBe(true)
  })
})

describe('while a sandbox is being resumed', () => {
  test('it shows as paused, connects share the resume, and a reboot is refused by name [L12] [L18] [L19]', async () => {
    const { connection, api, hold, callsOn, arrived } = await start()
    const sandbox = await Sandbox.create('base', connection)
    await sandbox.pause()
    const calls = callsOn(sandbox.sandboxId)
    const held = hold('resume')
    const connecting = [calls.connect(), calls.connect()]
    await held.entered
    await arrived('POST', /connect$/, 2)
    expect((await sandbox.getInfo()).state).toBe('paused')
    expect(await calls.pause()).toBe(409)
    const reboot = await api.POST('/v2/sandboxes/{sandboxID}/connect', {
      params: { path: { sandboxID: sandbox.sandboxId } },
      body: { memory: false },
    })
    expect(reboot.response.status).toBe(409)
    expect(reboot.error).toMatchObject({ code: 409, error_code: 'sandbox_start_in_flight' })
    held.release()
    expect(await Promise.all(connecting)).toEqual([201, 201])
  })

  test('a failure leaves it paused, and it can be resumed later', async () => {
    const { connection, hold, callsOn } = await start()
    const sandbox = await Sandbox.create('base', connection)
    await sandbox.pause()
    const held = hold('resume')
    held.release(new Error('no node'))
    expect(await callsOn(sandbox.sandboxId).connect()).toBe(500)
    expect((await sandbox.getInfo()).state).toBe('paused')
    expect(await callsOn(sandbox.sandboxId).connect()).toBe(201)
  })
})

describe('while a sandbox is being snapshotted', () => {
  test('it runs for look-ups, is missing from lists, and cannot be changed; connect and traffic wait for it [L28] [L33] [L40] [L41]', async () => {
    const { connection, hold, list, callsOn, arrived } = await start()
    const sandbox = await Sandbox.create('base', connection)
    const calls = callsOn(sandbox.sandboxId)
    const held = hold('snapshot')
    const snapshotting = sandbox.createSnapshot()
    await held.entered
    expect((await sandbox.getInfo()).state).toBe('running')
    expect(await list()).toEqual([])
    expect(await list({ query: { state: ['running'] } })).toEqual([])
    for (const call of [calls.pause, calls.timeout, calls.refresh, calls.snapshot, calls.fork]) {
      expect(await call()).toBe(409)
    }
    const connecting = calls.connect()
    const running = sandbox.commands.run('true')
    await arrived('POST', /connect$/)
    await arrived('POST', /Process\/Start$/)
    held.release()
    await snapshotting
    expect(await connecting).toBe(200)
    expect((await running).exitCode).toBe(0)
    expect(await list()).toEqual([{ sandboxId: sandbox.sandboxId, state: 'running' }])
  })

  test('it shows as the paused state that was stored before, where there is one [L33]', async () => {
    const { connection, hold, list } = await start()
    const sandbox = await Sandbox.create('base', connection)
    await sandbox.createSnapshot()
    const held = hold('snapshot')
    const forking = sandbox.fork()
    await held.entered
    expect(await list()).toEqual([{ sandboxId: sandbox.sandboxId, state: 'paused' }])
    expect((await sandbox.getInfo()).state).toBe('running')
    held.release()
    await forking
  })

  test('it counts against the plan', async () => {
    const { runtime, hold } = createHeldRuntime()
    const { connection } = await startEmulator({ runtime, limits: { concurrentSandboxes: 1 } })
    const sandbox = await Sandbox.create('base', connection)
    const held = hold('snapshot')
    const snapshotting = sandbox.createSnapshot()
    await held.entered
    await expect(Sandbox.create('base', connection)).rejects.toThrow('concurrent')
    held.release()
    await snapshotting
  })

  test.each([
    ['kill', 'kill' as const],
    ['pause', 'pause' as const],
  ])('a timeout waits with its %s until it is over [L1] [L40]', async (_, onTimeout) => {
    const { emulator, connection, hold, list } = await start()
    const options = { ...connection, timeoutMs: 60_000, lifecycle: { onTimeout } }
    const sandbox = await Sandbox.create('base', options)
    const held = hold('snapshot')
    const snapshotting = sandbox.createSnapshot()
    await held.entered
    const advancing = emulator.control.advance(60_000)
    expect((await sandbox.getInfo()).state).toBe('running')
    held.release()
    await snapshotting
    await advancing
    // Killed by its timeout, it comes back as what the snapshot stored.
    expect(await list()).toEqual([{ sandboxId: sandbox.sandboxId, state: 'paused' }])
  })

  test('a failure leaves it running', async () => {
    const { connection, hold, callsOn } = await start()
    const sandbox = await Sandbox.create('base', connection)
    const held = hold('snapshot')
    held.release(new Error('no room'))
    expect(await callsOn(sandbox.sandboxId).snapshot()).toBe(500)
    expect((await sandbox.getInfo()).state).toBe('running')
  })
})

describe('while a sandbox is being killed', () => {
  test('look-ups are a 404, changes a 409, and another kill joins in [L39]', async () => {
    const { connection, hold, list, callsOn, arrived } = await start()
    const sandbox = await Sandbox.create('base', connection)
    const calls = callsOn(sandbox.sandboxId)
    const held = hold('destroy')
    const killing = calls.kill()
    await held.entered
    expect(await calls.get()).toBe(404)
    expect(await list()).toEqual([])
    expect(await sandbox.isRunning()).toBe(false)
    for (const call of [calls.connect, calls.pause, calls.timeout, calls.snapshot, calls.fork]) {
      expect(await call()).toBe(409)
    }
    const again = calls.kill()
    await arrived('DELETE', /^\/sandboxes/, 2)
    held.release()
    expect(await Promise.all([killing, again])).toEqual([204, 204])
    expect(await calls.connect()).toBe(404)
    expect(await calls.kill()).toBe(404)
  })

  test('by its timeout, a kill on request leaves nothing to come back [L23] [L39]', async () => {
    const { emulator, connection, hold, callsOn, arrived } = await start()
    const sandbox = await Sandbox.create('base', { ...connection, timeoutMs: 60_000 })
    await sandbox.pause()
    await Sandbox.connect(sandbox.sandboxId, { ...connection, timeoutMs: 60_000 })
    const held = hold('destroy')
    const advancing = emulator.control.advance(60_000)
    await held.entered
    const killing = callsOn(sandbox.sandboxId).kill()
    await arrived('DELETE', /^\/sandboxes/)
    held.release()
    await advancing
    expect(await killing).toBe(204)
    expect(await callsOn(sandbox.sandboxId).get()).toBe(404)
  })
})

describe('a sandbox that its timeout killed', () => {
  const life = { timeoutMs: 60_000 }

  test('comes back in the state it was once paused in [L23]', async () => {
    const { emulator, connection, list } = await start()
    const sandbox = await Sandbox.create('base', { ...connection, ...life, metadata: { owner: 'me' } })
    await sandbox.files.write('/home/user/note', 'paused')
    await emulator.control.advance(10_000)
    await sandbox.pause()
    await Sandbox.connect(sandbox.sandboxId, { ...connection, ...life })
    await sandbox.files.write('/home/user/note', 'lost')
    await emulator.control.advance(60_000)
    expect(await list()).toEqual([{ sandboxId: sandbox.sandboxId, state: 'paused' }])
    const { startedAt, endAt } = await sandbox.getInfo()
    expect(endAt.getTime() - startedAt.getTime()).toBe(10_000)
    const back = await Sandbox.connect(sandbox.sandboxId, connection)
    expect(await back.files.read('/home/user/note')).toBe('paused')
    expect(await back.getInfo()).toMatchObject({ metadata: { owner: 'me' }, state: 'running' })
  })

  test.each(['snapshot', 'fork'])('comes back in the state of its last %s [L23]', async (kind) => {
    const { emulator, connection } = await start()
    const sandbox = await Sandbox.create('base', { ...connection, ...life })
    await sandbox.files.write('/home/user/note', 'stored')
    await (kind === 'snapshot' ? sandbox.createSnapshot() : sandbox.fork())
    await sandbox.files.write('/home/user/note', 'lost')
    await emulator.control.advance(60_000)
    const back = await Sandbox.connect(sandbox.sandboxId, { ...connection, ...life })
    expect(await back.files.read('/home/user/note')).toBe('stored')
    // The same state again, as often as it dies so.
    await emulator.control.advance(60_000)
    const again = await Sandbox.connect(sandbox.sandboxId, connection)
    expect(await again.files.read('/home/user/note')).toBe('stored')
  })

  test('stays gone where it was never stored, and where it is killed on request afterwards [L23]', async () => {
    const { emulator, connection, list } = await start()
    await Sandbox.create('base', { ...connection, ...life })
    const stored = await Sandbox.create('base', { ...connection, ...life })
    await stored.createSnapshot()
    await emulator.control.advance(60_000)
    expect(await list()).toEqual([{ sandboxId: stored.sandboxId, state: 'paused' }])
    expect(await stored.kill()).toBe(true)
    expect(await list()).toEqual([])
    expect(await stored.kill()).toBe(false)
  })

  test('comes back after the snapshot it was stored with is deleted [L23]', async () => {
    const { emulator, connection } = await start()
    const sandbox = await Sandbox.create('base', { ...connection, ...life })
    await sandbox.files.write('/home/user/note', 'stored')
    const { snapshotId } = await sandbox.createSnapshot()
    await Sandbox.deleteSnapshot(snapshotId, connection)
    await emulator.control.advance(60_000)
    const back = await Sandbox.connect(sandbox.sandboxId, connection)
    expect(await back.files.read('/home/user/note')).toBe('stored')
  })
})
