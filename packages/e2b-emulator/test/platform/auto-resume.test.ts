import { ApiClient, ConnectionConfig, Sandbox } from 'e2b'
import { describe, expect, test } from 'vitest'
import { createManualClock, type EmulatorOptions } from '@warmbox/e2b-emulator'
import { startEmulator } from '../support/emulator.ts'
import { createHeldRuntime } from '../support/held-runtime.ts'

const autoResume = { lifecycle: { onTimeout: 'pause' as const, autoResume: true } }

async function start(options: EmulatorOptions = {}) {
  const { runtime, hold } = createHeldRuntime({
    ports: [{ port: 3000, answer: () => new Response('up') }],
  })
  const running = await startEmulator({ runtime, clock: createManualClock(), ...options })
  const ask = (sandboxId: string, port: number, headers: Record<string, string> = {}) =>
    running.emulator.fetch(`https://${port}-${sandboxId}.e2b.app/health`, { headers })
  return { ...running, hold, ask }
}

const lifeOf = async (sandbox: Sandbox, now: number) => ((await sandbox.getInfo()).endAt.getTime() - now) / 1000

describe('a paused sandbox that resumes on its own', () => {
  test('is woken by a call of its daemon, for the 300 seconds it gets at least [L25]', async () => {
    const clock = createManualClock()
    const { connection, emulator } = await start({ clock })
    const sandbox = await Sandbox.create('base', { ...connection, ...autoResume, timeoutMs: 60_000 })
    await emulator.control.advance(60_000)
    expect((await sandbox.getInfo()).state).toBe('paused')
    expect((await sandbox.commands.run('true')).exitCode).toBe(0)
    expect((await sandbox.getInfo()).state).toBe('running')
    expect(await lifeOf(sandbox, clock.now())).toBe(300)
  })

  test('lives as long as it was given at first, where that was more [L25]', async () => {
    const clock = createManualClock()
    const { connection, ask } = await start({ clock })
    const sandbox = await Sandbox.create('base', { ...connection, ...autoResume, timeoutMs: 900_000 })
    await sandbox.pause()
    expect(await (await ask(sandbox.sandboxId, 3000)).text()).toBe('up')
    expect(await lifeOf(sandbox, clock.now())).toBe(900)
  })

  test('is woken once by requests that come together [L25]', async () => {
    const { connection, emulator, hold, ask } = await start()
    const sandbox = await Sandbox.create('base', { ...connection, ...autoResume })
    await sandbox.pause()
    const held = hold('resume')
    const asked = [
      ask(sandbox.sandboxId, 3000),
      ask(sandbox.sandboxId, 3000),
      Sandbox.connect(sandbox.sandboxId, connection),
    ]
    await held.entered
    await expect.poll(() => emulator.control.requests.filter(({ path }) => path.endsWith('/connect')).length).toBe(1)
    held.release()
    const [first, second] = await Promise.all(asked)
    expect([first, second]).toMatchObject([{ status: 200 }, { status: 200 }])
  })

  test('is woken after a pause that is under way [L25] [L41]', async () => {
    const { connection, hold, ask } = await start()
    const sandbox = await Sandbox.create('base', { ...connection, ...autoResume })
    const held = hold('pause')
    const pausing = sandbox.pause()
    await held.entered
    const asked = ask(sandbox.sandboxId, 3000)
    held.release()
    await pausing
    expect((await asked).status).toBe(200)
  })

  test('is not woken by a call of its daemon without the token: 403 [L26]', async () => {
    const { connection, ask } = await start()
    const sandbox = await Sandbox.create('base', { ...connection, ...autoResume })
    await sandbox.pause()
    for (const headers of [{}, { 'X-Access-Token': 'wrong' }]) {
      const answer = await ask(sandbox.sandboxId, 49_983, headers)
      expect(answer.status).toBe(403)
      expect(await answer.json()).toEqual({
        sandboxId: sandbox.sandboxId,
        message: expect.stringContaining("can't be resumed"),
        code: 403,
      })
    }
    expect((await sandbox.getInfo()).state).toBe('paused')
  })

  test('is not woken by a port without the traffic token, where it has one: 403 [L26]', async () => {
    const { connection, ask } = await start()
    const options = { ...connection, ...autoResume, network: { allowPublicTraffic: false } }
    const sandbox = await Sandbox.create('base', options)
    await sandbox.pause()
    expect((await ask(sandbox.sandboxId, 3000)).status).toBe(403)
    expect((await sandbox.getInfo()).state).toBe('paused')
    const headers = { 'e2b-traffic-access-token': sandbox.trafficAccessToken ?? '' }
    expect((await ask(sandbox.sandboxId, 3000, headers)).status).toBe(200)
  })

  test('is not woken beyond the plan: 429 [L26]', async () => {
    const { connection, ask } = await start({ limits: { concurrentSandboxes: 1 } })
    const sandbox = await Sandbox.create('base', { ...connection, ...autoResume })
    await sandbox.pause()
    await Sandbox.create('base', connection)
    const answer = await ask(sandbox.sandboxId, 3000)
    expect(answer.status).toBe(429)
    expect(await answer.json()).toMatchObject({ sandboxId: sandbox.sandboxId, code: 429 })
  })

  test('is not woken where its pause dropped memory: that takes a call of the API [L9]', async () => {
    const { connection, ask } = await start()
    const sandbox = await Sandbox.create('base', { ...connection, ...autoResume })
    await sandbox.pause({ keepMemory: false })
    expect((await ask(sandbox.sandboxId, 3000)).status).toBe(502)
    await Sandbox.connect(sandbox.sandboxId, connection)
    expect((await ask(sandbox.sandboxId, 3000)).status).toBe(200)
  })
})

describe('a paused sandbox that does not', () => {
  test('answers 502 as if it were gone, on every port, while it is on its way too [L9]', async () => {
    const { connection, hold, ask } = await start()
    const sandbox = await Sandbox.create('base', { ...connection, lifecycle: { onTimeout: 'pause' } })
    const gone = { sandboxId: sandbox.sandboxId, message: 'The sandbox was not found', code: 502 }
    const held = hold('pause')
    const pausing = sandbox.pause()
    await held.entered
    expect(await (await ask(sandbox.sandboxId, 3000)).json()).toEqual(gone)
    held.release()
    await pausing
    for (const port of [3000, 49_983]) expect(await (await ask(sandbox.sandboxId, port)).json()).toEqual(gone)
    expect((await sandbox.getInfo()).state).toBe('paused')
  })
})

describe('the lifecycle that resumes', () => {
  test('needs a pause on timeout that keeps memory: 400 otherwise [L24]', async () => {
    const { connection } = await start()
    const { api } = new ApiClient(new ConnectionConfig(connection))
    const create = async (body: { autoPause?: boolean; autoPauseMemory?: boolean }) =>
      (await api.POST('/v2/sandboxes', { body: { templateID: 'base', autoResume: { enabled: true }, ...body } }))
        .response.status
    expect(await create({})).toBe(400)
    expect(await create({ autoPause: true, autoPauseMemory: false })).toBe(400)
    expect(await create({ autoPause: true })).toBe(201)
  })
})
