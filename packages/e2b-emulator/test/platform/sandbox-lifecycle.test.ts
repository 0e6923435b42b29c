import { Sandbox, SandboxNotFoundError } from 'e2b'
import { describe, expect, test } from 'vitest'
import { createManualClock, type ScriptedCommand } from '@warmbox/e2b-emulator'
import { gate, startEmulator } from '../support/emulator.ts'

const withClock = async (commands: readonly ScriptedCommand[] = []) =>
  startEmulator({ clock: createManualClock(), commands })

describe('timeouts', () => {
  test('kill by default, at the very end [L1]', async () => {
    const { emulator, connection } = await withClock()
    const { sandboxId } = await Sandbox.create('base', { ...connection, timeoutMs: 60_000 })
    await emulator.control.advance(59_999)
    expect(emulator.control.sandboxes()).toHaveLength(1)
    await emulator.control.advance(1)
    await expect(Sandbox.getInfo(sandboxId, connection)).rejects.toBeInstanceOf(SandboxNotFoundError)
  })

  test('pause where the lifecycle says so [L1] [L27]', async () => {
    const { emulator, connection } = await withClock()
    const { sandboxId } = await Sandbox.create('base', {
      ...connection,
      timeoutMs: 60_000,
      lifecycle: { onTimeout: 'pause' },
    })
    await emulator.control.advance(60_000)
    expect(await Sandbox.getInfo(sandboxId, connection)).toMatchObject({
      state: 'paused',
      lifecycle: { onTimeout: 'pause', autoResume: false },
    })
  })

  test('setTimeout counts from now, and may shorten [L2]', async () => {
    const { emulator, connection } = await withClock()
    const sandbox = await Sandbox.create('base', { ...connection, timeoutMs: 600_000 })
    await emulator.control.advance(30_000)
    await sandbox.setTimeout(10_000)
    await emulator.control.advance(9_999)
    expect(emulator.control.sandboxes()).toHaveLength(1)
    await emulator.control.advance(1)
    expect(emulator.control.sandboxes()).toEqual([])
  })

  test('setTimeout ends no later than the plan allows from the start [L3]', async () => {
    const { emulator, connection } = await withClock()
    const sandbox = await Sandbox.create('base', { ...connection, timeoutMs: 3600_000 })
    await emulator.control.advance(1800_000)
    await sandbox.setTimeout(24 * 3600_000)
    const { startedAt, endAt } = await sandbox.getInfo()
    expect(endAt.getTime() - startedAt.getTime()).toBe(24 * 3600_000)
    await sandbox.setTimeout(1000 * 3600_000)
    expect(await sandbox.getInfo()).toMatchObject({ endAt })
  })

  test('what the plan allows is counted from the last resume [L3]', async () => {
    const { emulator, connection } = await withClock()
    const sandbox = await Sandbox.create('base', connection)
    await sandbox.pause()
    await emulator.control.advance(48 * 3600_000)
    await Sandbox.connect(sandbox.sandboxId, connection)
    await sandbox.setTimeout(24 * 3600_000)
    await emulator.control.advance(24 * 3600_000 - 1)
    expect((await sandbox.getInfo()).state).toBe('running')
  })

  test('refreshes extend by at least 15 seconds and never shorten [L5]', async () => {
    const { connection, api } = await withClock()
    const { sandboxId } = await Sandbox.create('base', { ...connection, timeoutMs: 5_000 })
    const refresh = (duration: number) =>
      api.POST('/sandboxes/{sandboxID}/refreshes', { params: { path: { sandboxID: sandboxId } }, body: { duration } })
    const life = async () => {
      const { startedAt, endAt } = await Sandbox.getInfo(sandboxId, connection)
      return endAt.getTime() - startedAt.getTime()
    }
    expect((await refresh(1)).response.status).toBe(204)
    expect(await life()).toBe(15_000)
    await refresh(100)
    await refresh(20)
    expect(await life()).toBe(100_000)
    expect((await refresh(3601)).response.status).toBe(400)
  })

  test('of an unknown or paused sandbox are not found [L4]', async () => {
    const { connection } = await startEmulator()
    const sandbox = await Sandbox.create('base', connection)
    await sandbox.pause()
    await expect(sandbox.setTimeout(10_000)).rejects.toBeInstanceOf(SandboxNotFoundError)
    await expect(Sandbox.setTimeout('nope', 10_000, connection)).rejects.toBeInstanceOf(SandboxNotFoundError)
  })
})

describe('kill', () => {
  test('ends running and paused sandboxes, and answers false for unknown ones [L20]', async () => {
    const { connection, emulator } = await startEmulator()
    const running = await Sandbox.create('base', connection)
    const paused = await Sandbox.create('base', connection)
    await paused.pause()
    expect(await running.kill()).toBe(true)
    expect(await paused.kill()).toBe(true)
    expect(await paused.kill()).toBe(false)
    expect(emulator.control.sandboxes()).toEqual([])
  })

  test('cuts a running command: the stream breaks, and isRunning is false [L21]', async () => {
    const command = gate('work')
    const { connection } = await startEmulator({ commands: [command.row] })
    const sandbox = await Sandbox.create('base', connection)
    const running = await sandbox.commands.run('work', { background: true })
    await command.entered
    const waiting = running.wait()
    await sandbox.kill()
    command.open()
    await expect(waiting).rejects.toThrow(/terminated|unavailable|unknown|aborted/i)
    expect(await sandbox.isRunning()).toBe(false)
  })
})

describe('pause and connect', () => {
  test('pause answers false when already paused, and is not found when unknown [L6]', async () => {
    const { connection } = await startEmulator()
    const sandbox = await Sandbox.create('base', connection)
    expect(await sandbox.pause()).toBe(true)
    expect(await sandbox.pause()).toBe(false)
    await expect(Sandbox.pause('nope', connection)).rejects.toBeInstanceOf(SandboxNotFoundError)
  })

  test('connect resumes a paused sandbox with 201, files and metadata kept [L11]', async () => {
    const { connection, api } = await startEmulator()
    const sandbox = await Sandbox.create('base', { ...connection, metadata: { owner: 'me' } })
    await sandbox.files.write('/home/user/note', 'kept')
    await sandbox.pause()
    const path = { sandboxID: sandbox.sandboxId }
    const woken = await api.POST('/v2/sandboxes/{sandboxID}/connect', { params: { path }, body: {} })
    expect(woken.response.status).toBe(201)
    const again = await api.POST('/v2/sandboxes/{sandboxID}/connect', { params: { path }, body: {} })
    expect(again.response.status).toBe(200)
    const connected = await Sandbox.connect(sandbox.sandboxId, connection)
    expect(await connected.files.read('/home/user/note')).toBe('kept')
    expect((await connected.getInfo()).metadata).toEqual({ owner: 'me' })
  })

  test('connect to a running sandbox only extends its life [L10]', async () => {
    const { connection } = await withClock()
    const { sandboxId } = await Sandbox.create('base', { ...connection, timeoutMs: 600_000 })
    const life = async () => {
      const { startedAt, endAt } = await Sandbox.getInfo(sandboxId, connection)
      return endAt.getTime() - startedAt.getTime()
    }
    await Sandbox.connect(sandboxId, { ...connection, timeoutMs: 1_000 })
    expect(await life()).toBe(600_000)
    await Sandbox.connect(sandboxId, { ...connection, timeoutMs: 900_000 })
    expect(await life()).toBe(900_000)
  })

  test('concurrent connects share one resume [L12]', async () => {
    const { connection, emulator } = await startEmulator()
    const { sandboxId } = await Sandbox.create('base', connection)
    await Sandbox.pause(sandboxId, connection)
    const connected = await Promise.all([1, 2, 3].map(() => Sandbox.connect(sandboxId, connection)))
    expect(new Set(connected.map((sandbox) => sandbox.sandboxId))).toEqual(new Set([sandboxId]))
    expect(emulator.control.sandboxes()).toMatchObject([{ state: 'running' }])
  })

  test('connect to an unknown or killed sandbox is SandboxNotFoundError [L13]', async () => {
    const { connection } = await startEmulator()
    const sandbox = await Sandbox.create('base', connection)
    await sandbox.kill()
    await expect(Sandbox.connect(sandbox.sandboxId, connection)).rejects.toBeInstanceOf(SandboxNotFoundError)
    await expect(Sandbox.connect('nope', connection)).rejects.toBeInstanceOf(SandboxNotFoundError)
  })

  test('resume is refused with 409 where the sandbox runs [L15]', async () => {
    const { connection, api } = await startEmulator()
    const { sandboxId } = await Sandbox.create('base', connection)
    const resume = () =>
      api.POST('/sandboxes/{sandboxID}/resume', { params: { path: { sandboxID: sandboxId } }, body: { timeout: 60 } })
    expect((await resume()).response.status).toBe(409)
    await Sandbox.pause(sandboxId, connection)
    expect((await resume()).response.status).toBe(201)
  })

  test('a paused sandbox answers 502 to its daemon, ended when it was paused, and does not count [L8] [L9] [L14]', async () => {
    const { connection, emulator } = await startEmulator({
      clock: createManualClock(),
      limits: { concurrentSandboxes: 1 },
    })
    const sandbox = await Sandbox.create('base', { ...connection, timeoutMs: 600_000 })
    await emulator.control.advance(10_000)
    await sandbox.pause()
    expect(await sandbox.isRunning()).toBe(false)
    const { startedAt, endAt } = await sandbox.getInfo()
    expect(endAt.getTime() - startedAt.getTime()).toBe(10_000)
    await expect(Sandbox.create('base', connection)).resolves.toBeDefined()
    await expect(Sandbox.connect(sandbox.sandboxId, connection)).rejects.toThrow('concurrent')
  })

  test('a pause cuts open streams, and the process they showed goes on [L16]', async () => {
    const { connection } = await startEmulator()
    const sandbox = await Sandbox.create('base', connection)
    const running = await sandbox.commands.run('sleep infinity', { background: true })
    const waiting = running.wait()
    await sandbox.pause()
    await expect(waiting).rejects.toBeInstanceOf(Error)
    await Sandbox.connect(sandbox.sandboxId, connection)
    expect((await sandbox.commands.list()).map(({ pid }) => pid)).toContain(running.pid)
  })

  test('a pause that drops memory keeps files and ends processes [L7]', async () => {
    const { connection } = await startEmulator()
    const sandbox = await Sandbox.create('base', connection)
    await sandbox.files.write('/home/user/note', 'kept')
    const running = await sandbox.commands.run('sleep infinity', { background: true })
    await sandbox.pause({ keepMemory: false })
    await Sandbox.connect(sandbox.sandboxId, connection)
    expect(await sandbox.files.read('/home/user/note')).toBe('kept')
    expect((await sandbox.commands.list()).map(({ pid }) => pid)).not.toContain(running.pid)
  })

  test('a boot from files alone, after such a pause or on request, knows no variables of create [L17]', async () => {
    const { connection } = await startEmulator()
    const sandbox = await Sandbox.create('base', { ...connection, envs: { MODE: 'on' } })
    const mode = async () => /^MODE=(.*)$/m.exec((await sandbox.commands.run('env')).stdout)?.[1]
    expect(await mode()).toBe('on')
    await sandbox.pause()
    await Sandbox.connect(sandbox.sandboxId, connection)
    expect(await mode()).toBe('on')
    await sandbox.pause()
    await Sandbox.connect(sandbox.sandboxId, { ...connection, onResume: 'reboot' })
    expect(await mode()).toBeUndefined()
    const other = await Sandbox.create('base', { ...connection, envs: { MODE: 'on' } })
    await other.pause({ keepMemory: false })
    await Sandbox.connect(other.sandboxId, connection)
    expect((await other.commands.run('env')).stdout).not.toContain('MODE')
  })

  test('a pause that keeps memory keeps processes [L7]', async () => {
    const { connection } = await startEmulator()
    const sandbox = await Sandbox.create('base', connection)
    const running = await sandbox.commands.run('sleep infinity', { background: true })
    await sandbox.pause()
    await Sandbox.connect(sandbox.sandboxId, connection)
    expect((await sandbox.commands.list()).map(({ pid }) => pid)).toContain(running.pid)
  })
})
