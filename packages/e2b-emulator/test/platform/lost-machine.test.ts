import { Sandbox, SandboxNotFoundError } from 'e2b'
import { expect, test } from 'vitest'
import { createScriptedRuntime, type RuntimePort } from '@warmbox/e2b-emulator'
import { deferred } from '../support/deferred.ts'
import { startEmulator } from '../support/emulator.ts'

/** A scripted runtime whose machines end by themselves when a test says so, the oldest first. */
function losable() {
  const scripted = createScriptedRuntime()
  const ends: (() => void)[] = []
  const destroyed: string[] = []
  const runtime: RuntimePort = {
    ...scripted,
    createMachine: async (image, options) => {
      const machine = await scripted.createMachine(image, options)
      if (options.purpose === 'build') return machine
      const lost = deferred<void>()
      ends.push(() => lost.resolve())
      return {
        ...methodsOf(machine),
        ended: Promise.race([machine.ended, lost.promise]),
        destroy: async () => {
          destroyed.push(machine.id)
          await machine.destroy()
        },
      }
    },
  }
  return { runtime, destroyed, lose: () => ends.shift()?.() }
}

type Machine = Awaited<ReturnType<RuntimePort['createMachine']>>

const methodsOf = (machine: Machine): Omit<Machine, 'ended' | 'destroy'> => ({
  id: machine.id,
  confined: machine.confined,
  files: machine.files,
  spawn: (options) => machine.spawn(options),
  connect: (port) => machine.connect(port),
  usage: () => machine.usage(),
  pause: () => machine.pause(),
  resume: () => machine.resume(),
  snapshot: () => machine.snapshot(),
})

const idsOf = async (connection: Parameters<typeof Sandbox.list>[0]) =>
  (await Sandbox.list(connection).nextItems()).map(({ sandboxId }) => sandboxId)

test('a sandbox whose machine is lost is gone for look-ups, calls and the limit of the plan [L43]', async () => {
  const { runtime, destroyed, lose } = losable()
  const { connection, emulator } = await startEmulator({ runtime, limits: { concurrentSandboxes: 1 } })
  const sandbox = await Sandbox.create('base', connection)
  lose()
  await expect.poll(() => emulator.control.sandboxes()).toEqual([])
  expect(await idsOf(connection)).toEqual([])
  await expect(sandbox.getInfo()).rejects.toBeInstanceOf(SandboxNotFoundError)
  await expect(sandbox.commands.run('true')).rejects.toBeInstanceOf(SandboxNotFoundError)
  expect(await sandbox.isRunning()).toBe(false)
  expect(await sandbox.kill()).toBe(false)
  expect(destroyed).toEqual([sandbox.sandboxId])
  const next = await Sandbox.create('base', connection)
  expect(await idsOf(connection)).toEqual([next.sandboxId])
})

test('it comes back as paused where an older state of it is stored [L43]', async () => {
  const { runtime, lose } = losable()
  const { connection } = await startEmulator({ runtime })
  const sandbox = await Sandbox.create('base', connection)
  await sandbox.files.write('/home/user/note', 'stored')
  await sandbox.createSnapshot()
  await sandbox.files.write('/home/user/note', 'lost')
  lose()
  await expect.poll(async () => (await sandbox.getInfo()).state).toBe('paused')
  await sandbox.connect()
  expect(await sandbox.files.read('/home/user/note')).toBe('stored')
})

test('a machine that a resume brought is watched as the first one was, and the one before it no more [L43]', async () => {
  const { runtime, lose } = losable()
  const { connection, emulator } = await startEmulator({ runtime })
  const sandbox = await Sandbox.create('base', connection)
  await sandbox.pause({ keepMemory: false })
  await sandbox.connect()
  lose()
  expect((await sandbox.getInfo()).state).toBe('running')
  lose()
  await expect.poll(() => emulator.control.sandboxes().map(({ state }) => state)).not.toContain('running')
})
