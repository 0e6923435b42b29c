import { RateLimitError, Sandbox, SandboxError, SandboxNotFoundError, Template } from 'e2b'
import { describe, expect, test } from 'vitest'
import { createManualClock, type ScriptedCommand } from '@warmbox/e2b-emulator'
import { startEmulator } from '../support/emulator.ts'

/** The sandboxes among the results; the test fails on an error. */
const sandboxesOf = (results: readonly (Sandbox | Error)[]) =>
  results.map((result) => {
    if (result instanceof Error) throw result
    return result
  })

describe('Sandbox.fork', () => {
  test('copies files under new ids, and everything the sandbox is but its life [L34] [L36]', async () => {
    const { connection, emulator } = await startEmulator({ clock: createManualClock() })
    const original = await Sandbox.create('base', {
      ...connection,
      metadata: { owner: 'me' },
      envs: { MODE: 'on' },
      lifecycle: { onTimeout: 'pause' },
      network: { allowPublicTraffic: false },
    })
    await original.files.write('/home/user/note', 'kept')
    const [first, second] = sandboxesOf(await original.fork({ count: 2 }))
    const ids = [original, first, second].map((sandbox) => sandbox?.sandboxId)
    expect(new Set(ids).size).toBe(3)
    expect(await first?.files.read('/home/user/note')).toBe('kept')
    await first?.files.write('/home/user/note', 'changed')
    expect(await second?.files.read('/home/user/note')).toBe('kept')
    expect(await original.files.read('/home/user/note')).toBe('kept')
    expect((await second?.commands.run('env'))?.stdout).toContain('MODE=on\n')
    const info = await second?.getInfo()
    expect(info).toMatchObject({
      metadata: { owner: 'me' },
      lifecycle: { onTimeout: 'pause' },
      network: { allowPublicTraffic: false },
      templateId: (await original.getInfo()).templateId,
    })
    expect((info?.endAt.getTime() ?? 0) - (info?.startedAt.getTime() ?? 0)).toBe(15_000)
    expect(second?.trafficAccessToken).not.toBe(original.trafficAccessToken)
    await emulator.control.advance(15_000)
    expect(await second?.getInfo()).toMatchObject({ state: 'paused' })
    expect(await original.getInfo()).toMatchObject({ state: 'running' })
  })

  test('lives as long as it is told, once by default [L36]', async () => {
    const { connection } = await startEmulator({ clock: createManualClock() })
    const original = await Sandbox.create('base', connection)
    const forks = sandboxesOf(await original.fork({ timeoutMs: 120_000 }))
    expect(forks).toHaveLength(1)
    const info = await forks[0]?.getInfo()
    expect((info?.endAt.getTime() ?? 0) - (info?.startedAt.getTime() ?? 0)).toBe(120_000)
  })

  test('runs the start command anew in each [L37]', async () => {
    const started: string[] = []
    const serve: ScriptedCommand = {
      match: 'serve',
      answer: async (call) => {
        started.push(call.user)
        await new Promise((resolve) => call.signal.addEventListener('abort', resolve))
        return {}
      },
    }
    const { connection } = await startEmulator({ commands: [serve] })
    await Template.build(Template().fromImage('node:24').setStartCmd('serve', 'true'), 'service', connection)
    const sandbox = await Sandbox.create('service', connection)
    expect(started).toHaveLength(2)
    await sandbox.fork({ count: 3 })
    expect(started).toHaveLength(5)
  })

  test('takes a slot for each: those beyond the plan are errors among the results [L34]', async () => {
    const { connection, emulator } = await startEmulator({ limits: { concurrentSandboxes: 4 } })
    const original = await Sandbox.create('base', connection)
    await Sandbox.create('base', connection)
    const results = await original.fork({ count: 3 })
    expect(results.filter((result) => result instanceof Sandbox)).toHaveLength(2)
    expect(results.filter((result) => result instanceof RateLimitError)).toHaveLength(1)
    expect(emulator.control.sandboxes()).toHaveLength(4)
  })

  test.each([
    ['none', { count: 0 }],
    ['more than a hundred', { count: 101 }],
    ['as many as the plan has slots', { count: 5 }],
    ['no life', { timeoutMs: 0 }],
  ])('of %s is a 400 [L34] [L35]', async (_, options) => {
    const { connection } = await startEmulator({ limits: { concurrentSandboxes: 5 } })
    const sandbox = await Sandbox.create('base', connection)
    const refused = sandbox.fork(options)
    await expect(refused).rejects.toBeInstanceOf(SandboxError)
    await expect(refused).rejects.toMatchObject({ statusCode: 400 })
  })

  test('of a paused sandbox is a 409, of an unknown one a 404 [L35]', async () => {
    const { connection } = await startEmulator()
    const sandbox = await Sandbox.create('base', connection)
    await sandbox.pause()
    await expect(sandbox.fork()).rejects.toMatchObject({ statusCode: 409 })
    await expect(Sandbox.fork('nope', connection)).rejects.toBeInstanceOf(SandboxNotFoundError)
  })
})
