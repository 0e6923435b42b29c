import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Sandbox, Template } from 'e2b'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  createEmulator,
  createManualClock,
  createScriptedRuntime,
  EmulatorError,
  seededIdentifierSource,
} from '@warmbox/e2b-emulator'
import { build } from './support/builds.ts'
import { startEmulator } from './support/emulator.ts'

describe('control', () => {
  test('records every request with its plane and status', async () => {
    const { connection, emulator } = await startEmulator()
    const sandbox = await Sandbox.create('base', connection)
    await sandbox.isRunning()
    await Template.exists('unknown', connection)
    expect(emulator.control.requests).toEqual([
      { method: 'POST', path: '/v2/sandboxes', plane: 'control', status: 201 },
      { method: 'GET', path: '/health', plane: 'envd', status: 204 },
      { method: 'GET', path: '/templates/aliases/unknown', plane: 'control', status: 404 },
    ])
  })

  test('shows templates, tags and builds', async () => {
    const { api, emulator } = await startEmulator({ team: 'acme' })
    const ready = await build({ api }, 'name:v1', [], ['current'])
    expect(emulator.control.templates()).toContainEqual({
      templateId: ready.templateID,
      name: 'acme/name',
      public: false,
      tags: { v1: ready.buildID, current: ready.buildID },
    })
    expect(emulator.control.builds()).toContainEqual(
      expect.objectContaining({ buildId: ready.buildID, status: 'ready', tags: ['v1', 'current'], reason: undefined }),
    )
  })

  test('fails the next build with the reason given', async () => {
    const { api, emulator } = await startEmulator()
    emulator.control.failNextBuild({ message: 'disk full', step: '3' })
    expect(await build({ api }, 'name')).toMatchObject({ status: 'error', reason: { message: 'disk full', step: '3' } })
    expect((await build({ api }, 'name')).status).toBe('ready')
  })

  test.each([
    ['failNextBuild', null, 'failNextBuild: the failure must be an object'],
    ['failNextBuild', {}, 'failNextBuild: message must'],
    ['failNextBuild', { message: 5 }, 'failNextBuild: message must'],
    ['failNextBuild', { message: 'm', step: 3 }, 'failNextBuild: step must'],
    ['failNextBuild', { message: 'm', step: '-1' }, 'failNextBuild: step must'],
    ['failNextBuild', { message: 'm', step: 'zzz' }, 'failNextBuild: step must'],
    ['failNextBuild', { message: 'm', steps: '1' }, 'failNextBuild: there is no field "steps"'],
    ['addForeignTemplate', undefined, 'addForeignTemplate: the template must be an object'],
    ['addForeignTemplate', {}, 'addForeignTemplate: name must'],
    ['addForeignTemplate', { name: 'A B', namespace: 'them', public: true }, 'addForeignTemplate: name must'],
    ['addForeignTemplate', { name: 'q', public: true }, 'addForeignTemplate: namespace must'],
    ['addForeignTemplate', { name: 'q', namespace: 'Them', public: true }, 'addForeignTemplate: namespace must'],
    ['addForeignTemplate', { name: 'q', namespace: 'emulator', public: true }, "the team's own"],
    ['addForeignTemplate', { name: 'q', namespace: 'them', public: 'yes' }, 'addForeignTemplate: public must'],
    ['addForeignTemplate', { name: 'q', namespace: 'them', publc: true }, 'no field "publc"'],
    ['addForeignTemplate', { name: 'base', namespace: null, public: true }, 'is taken'],
    ['dropStreams', 5, 'dropStreams: the id of a sandbox must be a string'],
    ['fault', { match: {} }, 'a fault has an effect'],
  ] as const)('refuses what cannot be meant, and changes nothing: %s %j', async (name, value, message) => {
    const { api, emulator } = await startEmulator()
    const before = emulator.control.templates()
    expect(() => Reflect.apply(emulator.control[name], emulator.control, [value])).toThrow(
      expect.objectContaining({
        name: 'EmulatorError',
        code: 'INVALID_OPTION',
        message: expect.stringContaining(message),
      }),
    )
    expect(emulator.control.templates()).toEqual(before)
    expect((await build({ api }, 'name')).status).toBe('ready')
  })

  test.each(['base', 'finalize', '0', '12'])('fails a build in step %s', async (step) => {
    const { api, emulator } = await startEmulator()
    emulator.control.failNextBuild({ message: 'm', step })
    expect(await build({ api }, 'name')).toMatchObject({ status: 'error', reason: { step } })
  })

  test('knows no streams of a sandbox that does not exist', async () => {
    const { connection, emulator } = await startEmulator()
    const { sandboxId } = await Sandbox.create('base', connection)
    expect(emulator.control.dropStreams(sandboxId)).toBe(0)
    const unknown = expect.objectContaining({ code: 'UNKNOWN_TARGET', message: expect.stringContaining('nope') })
    expect(() => emulator.control.dropStreams('nope')).toThrow(unknown)
  })

  test('refuses to move wall time', async () => {
    const { emulator } = await startEmulator()
    await expect(emulator.control.advance(1)).rejects.toMatchObject({ code: 'CLOCK_NOT_MANUAL' })
  })

  test('shows the files of a template and of a sandbox on the host, and takes them away again', async () => {
    const { api, connection, emulator } = await startEmulator()
    await build({ api }, 'name')
    const sandbox = await Sandbox.create('name', connection)
    await sandbox.files.write('/home/user/note', 'found')
    const template = await emulator.control.filesystemOf('name')
    expect(existsSync(join(template.directory, 'home/user/note'))).toBe(false)
    const machine = await emulator.control.filesystemOf(sandbox.sandboxId)
    expect(await readFile(join(machine.directory, 'home/user/note'), 'utf8')).toBe('found')
    await template.release()
    await machine.release()
    expect([template, machine].map(({ directory }) => existsSync(directory))).toEqual([false, false])
    await expect(emulator.control.filesystemOf('nothing')).rejects.toMatchObject({ code: 'UNKNOWN_TARGET' })
  })
})

/** What one run hands out, with a seed. */
async function identifiersOfRun() {
  const { api } = await startEmulator({ ids: seededIdentifierSource(7), clock: createManualClock() })
  const { templateID, buildID } = await build({ api }, 'name')
  const { data } = await api.POST('/v2/sandboxes', { body: { templateID: 'name' } })
  return { ids: [templateID, buildID, data?.sandboxID], token: data?.envdAccessToken }
}

describe('createEmulator', () => {
  test('does nothing until it is used, and says which runtime it chose', async () => {
    const emulator = createEmulator({ runtime: 'scripted' })
    expect(emulator.runtime.kind).toBe('undecided')
    await emulator.ready()
    expect(emulator.runtime).toEqual({ kind: 'scripted', reason: expect.stringMatching(/^scripted was chosen; /) })
    await emulator.close()
  })

  test.each([
    [{ apiKey: 'plain' }, 'apiKey must start with "e2b_"'],
    [{ team: 'Acme Inc' }, 'team must be a lower-case namespace'],
    [{ latency: -1 }, 'latency must be'],
    [{ latency: Number.NaN }, 'latency must be'],
  ])('refuses %j', (options, message) => {
    expect(() => createEmulator(options)).toThrow(EmulatorError)
    expect(() => createEmulator(options)).toThrow(message)
  })

  test('hands out the same identifiers for the same seed', async () => {
    const [first, second] = [await identifiersOfRun(), await identifiersOfRun()]
    expect(first.ids).toEqual(second.ids)
    expect(first.ids[0]).toMatch(/^[a-z0-9]{20}$/)
    expect(first.token).not.toBe(second.token)
  })

  test('carries hundreds of scripted sandboxes', async () => {
    const emulator = createEmulator({
      runtime: createScriptedRuntime(),
      apiKey: 'e2b_00',
      limits: { concurrentSandboxes: 300 },
    })
    onTestFinished(() => emulator.close())
    const create = () =>
      emulator.fetch('https://api.e2b.app/v2/sandboxes', {
        method: 'POST',
        headers: { 'X-API-KEY': 'e2b_00' },
        body: JSON.stringify({ templateID: 'base' }),
      })
    const statuses = await Promise.all(Array.from({ length: 300 }, async () => (await create()).status))
    expect(new Set(statuses)).toEqual(new Set([201]))
    expect(emulator.control.sandboxes()).toHaveLength(300)
  })
})
