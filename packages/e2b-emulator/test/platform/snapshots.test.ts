import { FileNotFoundError, Sandbox, SandboxNotFoundError, Template } from 'e2b'
import { describe, expect, test } from 'vitest'
import { createManualClock, type ScriptedCommand } from '@warmbox/e2b-emulator'
import { build, request, start } from '../support/builds.ts'
import { startEmulator, type Running } from '../support/emulator.ts'

/** Writes the note that tells a copy from what it was copied of. */
async function sandboxWithNote({ connection }: Running, note: string) {
  const sandbox = await Sandbox.create('base', connection)
  await sandbox.files.write('/home/user/note', note)
  return sandbox
}

async function noteOf({ connection }: Running, template: string) {
  const sandbox = await Sandbox.create(template, connection)
  return sandbox.files.read('/home/user/note')
}

async function listed({ connection }: Running, options: Parameters<typeof Sandbox.listSnapshots>[0] = {}) {
  const paginator = Sandbox.listSnapshots({ ...connection, ...options })
  const found: string[] = []
  while (paginator.hasNext) found.push(...(await paginator.nextItems()).map(({ snapshotId }) => snapshotId))
  return found
}

describe('a snapshot', () => {
  test('answers 201 with an id that boots and builds, by template id or by name [L28] [L29] [L42]', async () => {
    const running = await startEmulator()
    const sandbox = await sandboxWithNote(running, 'kept')
    const unnamed = await sandbox.createSnapshot()
    expect(unnamed).toEqual({ snapshotId: expect.stringMatching(/^[a-z0-9]{20}:default$/), names: [] })
    const named = await sandbox.createSnapshot({ name: 'Saved' })
    expect(named).toEqual({ snapshotId: 'emulator/saved:default', names: ['emulator/saved'] })
    const tagged = await sandbox.createSnapshot({ name: 'saved:v1' })
    expect(tagged).toEqual({ snapshotId: 'emulator/saved:v1', names: ['emulator/saved'] })
    for (const { snapshotId } of [unnamed, named, tagged]) expect(await noteOf(running, snapshotId)).toBe('kept')
    const child = await Template.build(Template().fromTemplate(named.snapshotId), 'child', running.connection)
    expect(await noteOf(running, child.name)).toBe('kept')
  })

  test('leaves the sandbox running, with its streams and its end, and what it does later out of the copy [L28]', async () => {
    const running = await startEmulator({ clock: createManualClock() })
    const sandbox = await sandboxWithNote(running, 'before')
    const command = await sandbox.commands.run('sleep infinity', { background: true })
    const { endAt } = await sandbox.getInfo()
    const { snapshotId } = await sandbox.createSnapshot()
    await sandbox.files.write('/home/user/note', 'after')
    expect(await noteOf(running, snapshotId)).toBe('before')
    expect(await sandbox.getInfo()).toMatchObject({ state: 'running', endAt })
    expect(await command.kill()).toBe(true)
  })

  test('runs the start command anew in what boots from it [L37]', async () => {
    const started: string[] = []
    const serve: ScriptedCommand = {
      match: 'serve',
      answer: async (call) => {
        started.push(call.env.MODE ?? '')
        await new Promise((resolve) => call.signal.addEventListener('abort', resolve))
        return {}
      },
    }
    const { connection } = await startEmulator({ commands: [serve] })
    const template = Template().fromImage('node:24').setEnvs({ MODE: 'on' }).setStartCmd('serve', 'true')
    await Template.build(template, 'service', connection)
    const sandbox = await Sandbox.create('service', connection)
    const { snapshotId } = await sandbox.createSnapshot()
    expect(started).toHaveLength(2)
    await Sandbox.create(snapshotId, connection)
    expect(started).toEqual(['on', 'on', 'on'])
  })

  test('outlives its sandbox, and the template it came from', async () => {
    const running = await startEmulator()
    const sandbox = await sandboxWithNote(running, 'kept')
    const { snapshotId } = await sandbox.createSnapshot()
    await sandbox.kill()
    expect(await noteOf(running, snapshotId)).toBe('kept')
  })

  test('of an unknown or paused sandbox is a 404, of another team or a bad name a 400 [L28]', async () => {
    const { connection } = await startEmulator()
    const sandbox = await Sandbox.create('base', connection)
    for (const name of ['other/name', 'a.b', 'name:']) {
      await expect(sandbox.createSnapshot({ name })).rejects.toMatchObject({ statusCode: 400 })
    }
    await sandbox.pause()
    await expect(sandbox.createSnapshot()).rejects.toBeInstanceOf(SandboxNotFoundError)
    await expect(Sandbox.createSnapshot('nope', connection)).rejects.toBeInstanceOf(SandboxNotFoundError)
  })

  test('under the name of a template becomes a build of it, and can take over what the name boots [L31]', async () => {
    const running = await startEmulator()
    const { templateID } = await build(running, 'mine')
    const sandbox = await sandboxWithNote(running, 'hijacked')
    await sandbox.createSnapshot({ name: 'mine:v2' })
    expect(await Template.exists('mine:v2', running.connection)).toBe(true)
    await expect(noteOf(running, 'mine')).rejects.toBeInstanceOf(FileNotFoundError)
    await sandbox.createSnapshot({ name: 'mine' })
    expect(await noteOf(running, 'mine')).toBe('hijacked')
    expect((await Template.getTags(templateID, running.connection)).map(({ tag }) => tag)).toEqual(['default', 'v2'])
    expect(await listed(running)).toEqual([])
  })

  test('keeps its name from builds: the request is taken, the start is a 404 [L32]', async () => {
    const { connection, api } = await startEmulator()
    const sandbox = await Sandbox.create('base', connection)
    await sandbox.createSnapshot({ name: 'saved' })
    const { response } = await start(api, await request(api, 'saved'))
    expect(response.status).toBe(404)
  })
})

describe('Sandbox.listSnapshots', () => {
  test('lists one entry per snapshot template, newest first, under its newest tag, in pages [L30]', async () => {
    const running = await startEmulator({ clock: createManualClock() })
    const sandbox = await Sandbox.create('base', running.connection)
    for (const name of ['one', 'two', 'three', 'one:later']) {
      await running.emulator.control.advance(1000)
      await sandbox.createSnapshot({ name })
    }
    const expected = ['emulator/three:default', 'emulator/two:default', 'emulator/one:later']
    expect(await listed(running)).toEqual(expected)
    expect(await listed(running, { limit: 1 })).toEqual(expected)
    expect(await listed(running, { limit: 2 })).toEqual(expected)
    for (const limit of [0, 101]) {
      const { response } = await running.api.GET('/snapshots', { params: { query: { limit } } })
      expect(response.status).toBe(400)
    }
  })

  test('filters by sandbox, and by name or id, with a tag or without [L30]', async () => {
    const running = await startEmulator()
    const [first, second] = [
      await Sandbox.create('base', running.connection),
      await Sandbox.create('base', running.connection),
    ]
    await first.createSnapshot({ name: 'one:v1' })
    const { snapshotId } = await second.createSnapshot()
    expect(await listed(running, { sandboxId: first.sandboxId })).toEqual(['emulator/one:v1'])
    expect(await first.listSnapshots().nextItems()).toHaveLength(1)
    for (const name of ['one', 'emulator/one', 'one:v1']) {
      expect(await listed(running, { name })).toEqual(['emulator/one:v1'])
    }
    expect(await listed(running, { name: snapshotId })).toEqual([snapshotId])
    for (const name of ['one:v2', 'other/one', 'two']) expect(await listed(running, { name })).toEqual([])
  })

  test('has the snapshots that the list of templates has not [L42]', async () => {
    const running = await startEmulator()
    await build(running, 'built')
    const sandbox = await Sandbox.create('base', running.connection)
    await sandbox.createSnapshot({ name: 'saved' })
    const { data } = await running.api.GET('/v2/templates')
    expect(data?.flatMap(({ names }) => names)).toEqual(['emulator/built'])
    expect(await listed(running)).toEqual(['emulator/saved:default'])
  })
})

describe('Sandbox.deleteSnapshot', () => {
  test('deletes the whole template, whatever tag is named, and answers false for what is not there [T30]', async () => {
    const running = await startEmulator()
    const { connection } = running
    const sandbox = await sandboxWithNote(running, 'kept')
    const unnamed = await sandbox.createSnapshot()
    await sandbox.createSnapshot({ name: 'saved:v1' })
    const { snapshotId } = await sandbox.createSnapshot({ name: 'saved:v2' })
    expect(await Sandbox.deleteSnapshot(snapshotId, connection)).toBe(true)
    expect(await Template.exists('saved:v1', connection)).toBe(false)
    expect(await listed(running)).toEqual([unnamed.snapshotId])
    expect(await Sandbox.deleteSnapshot(unnamed.snapshotId, connection)).toBe(true)
    expect(await Sandbox.deleteSnapshot(unnamed.snapshotId, connection)).toBe(false)
  })

  test('deletes ordinary templates too [T30]', async () => {
    const running = await startEmulator()
    await build(running, 'mine')
    expect(await Sandbox.deleteSnapshot('mine', running.connection)).toBe(true)
    expect(await Template.exists('mine', running.connection)).toBe(false)
  })

  test('is refused while a sandbox is based on the snapshot; the one it was taken of does not count', async () => {
    const running = await startEmulator()
    const sandbox = await sandboxWithNote(running, 'kept')
    const { snapshotId } = await sandbox.createSnapshot()
    const copy = await Sandbox.create(snapshotId, running.connection)
    await expect(Sandbox.deleteSnapshot(snapshotId, running.connection)).rejects.toMatchObject({ statusCode: 400 })
    await copy.kill()
    expect(await Sandbox.deleteSnapshot(snapshotId, running.connection)).toBe(true)
    expect(await sandbox.files.read('/home/user/note')).toBe('kept')
  })
})
