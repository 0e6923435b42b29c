import { readFile } from 'node:fs/promises'
import * as newest from 'e2b'
import * as floor from 'e2b-floor'
import { describe, expect, test } from 'vitest'
import type { EmulatorConnection } from '@warmbox/e2b-emulator'
import { startEmulator } from './support/emulator.ts'

const versions = [
  {
    name: 'newest',
    Template: newest.Template,
    create: (ref: string, connection: EmulatorConnection) => newest.Sandbox.create(ref, connection),
    connect: (id: string, connection: EmulatorConnection) => newest.Sandbox.connect(id, connection),
    prefix: '/v2/sandboxes',
  },
  {
    name: 'oldest',
    Template: floor.Template,
    create: (ref: string, connection: EmulatorConnection) => floor.Sandbox.create(ref, connection),
    connect: (id: string, connection: EmulatorConnection) => floor.Sandbox.connect(id, connection),
    prefix: '/sandboxes',
  },
] as const

const read = async (url: string): Promise<unknown> => JSON.parse(await readFile(new URL(url), 'utf8'))

test('the oldest SDK tested is the oldest supported', async () => {
  const installed = await read(import.meta.resolve('e2b-floor').replace(/\/dist\/.*/, '/package.json'))
  expect(installed).toMatchObject({ name: 'e2b', version: '2.49.0' })
  const supported = await read(new URL('../package.json', import.meta.url).href)
  expect(supported).toMatchObject({ peerDependencies: { e2b: '^2.49.0' } })
})

describe.each(versions)('the $name SDK', ({ Template, create, connect, prefix }) => {
  test('builds, looks up, creates, runs, connects and kills, each through its own routes [A12]', async () => {
    const { connection, emulator } = await startEmulator({
      commands: [{ match: 'hello', answer: { stdout: 'world\n' } }],
    })
    expect(await Template.exists('name:v1', connection)).toBe(false)
    const built = await Template.build(Template().fromImage('node:24').runCmd('true'), 'name:v1', connection)
    expect(built).toMatchObject({ name: 'name:v1', buildId: expect.any(String) })
    expect(await Template.exists('name:v1', connection)).toBe(true)

    const sandbox = await create('name:v1', connection)
    expect(await sandbox.commands.run('hello')).toMatchObject({ stdout: 'world\n', exitCode: 0 })
    await sandbox.files.write('/tmp/note', 'kept')
    expect(await sandbox.files.read('/tmp/note')).toBe('kept')
    expect(await sandbox.pause()).toBe(true)
    await connect(sandbox.sandboxId, connection)
    expect(await sandbox.files.read('/tmp/note')).toBe('kept')
    expect(await sandbox.kill()).toBe(true)
    expect(await sandbox.isRunning()).toBe(false)

    const posts = emulator.control.requests.filter(({ plane, method }) => plane === 'control' && method === 'POST')
    const paths = posts.map(({ path }) => path)
    expect(paths.filter((path) => /^(?:\/v2)?\/sandboxes$/.test(path))).toEqual([prefix])
    expect(paths.filter((path) => path.endsWith('/connect'))).toEqual([`${prefix}/${sandbox.sandboxId}/connect`])
  })

  test('secures its sandboxes', async () => {
    const { connection, emulator } = await startEmulator()
    const { sandboxId } = await create('base', connection)
    const headers = { 'E2b-Sandbox-Id': sandboxId, 'E2b-Sandbox-Port': '49983' }
    expect((await emulator.fetch(`${connection.sandboxUrl}/envs`, { headers })).status).toBe(401)
  })
})
