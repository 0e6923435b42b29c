import { Sandbox, SandboxError, TemplateError } from 'e2b'
import { describe, expect, test } from 'vitest'
import { EmulatorError, type EmulatorOptions } from '@warmbox/e2b-emulator'
import { hasAbility, isEnvdVersion } from '../src/envd/index.ts'
import { startEmulator } from './support/emulator.ts'

async function sandboxWith(options: EmulatorOptions) {
  const running = await startEmulator({
    commands: [
      {
        match: 'input',
        answer: async ({ stdin }) => {
          let chunks = 0
          for await (const chunk of stdin) chunks += Math.sign(chunk.byteLength)
          return { stdout: String(chunks) }
        },
      },
    ],
    ...options,
  })
  const sandbox = await Sandbox.create('base', running.connection)
  const call = (method: string, path: string, headers: Readonly<Record<string, string>>, body?: string) =>
    running.emulator.fetch(new URL(path, running.connection.sandboxUrl), {
      method,
      headers: {
        'E2b-Sandbox-Id': sandbox.sandboxId,
        'X-Access-Token': running.emulator.control.sandboxes()[0]?.envdAccessToken ?? '',
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
    })
  return { ...running, sandbox, call }
}

describe('an older envd', () => {
  test('is what the platform reports, and what the SDK refuses features by [D41]', async () => {
    const { sandbox } = await sandboxWith({ envdVersion: '0.5.1' })
    expect((await sandbox.getInfo()).envdVersion).toBe('0.5.1')
    await expect(sandbox.files.write('a', 'b', { metadata: { c: 'd' } })).rejects.toBeInstanceOf(TemplateError)
    await expect(sandbox.files.watchDir('/tmp', () => undefined, { includeEntry: true })).rejects.toBeInstanceOf(
      TemplateError,
    )
  })

  test('takes forms only: the SDK sends them, other uploads fail [D41]', async () => {
    const { sandbox, call, emulator } = await sandboxWith({ envdVersion: '0.5.6' })
    await sandbox.files.write('/tmp/a', 'text', { useOctetStream: true, gzip: true })
    await expect(sandbox.files.read('/tmp/a')).resolves.toBe('text')
    const octets = await call('POST', '/files?path=/tmp/b', { 'content-type': 'application/octet-stream' }, 'text')
    expect(octets.status).toBe(500)
    expect(emulator.control.requests.filter(({ path }) => path === '/files')).toHaveLength(3)
  })

  test('keeps no metadata that is sent all the same [D41]', async () => {
    const { sandbox, call } = await sandboxWith({ envdVersion: '0.6.1' })
    const headers = { 'content-type': 'application/octet-stream', 'x-metadata-a': 'b' }
    expect(await (await call('POST', '/files?path=/tmp/a', headers, 'x')).json()).toEqual([
      { name: 'a', path: '/tmp/a', type: 'file' },
    ])
    expect((await sandbox.files.getInfo('/tmp/a')).metadata).toBeUndefined()
  })

  test('cannot close input, before 0.5.2 [D41]', async () => {
    const old = await sandboxWith({ envdVersion: '0.5.1' })
    const command = await old.sandbox.commands.run('input', { background: true, stdin: true })
    await expect(command.closeStdin()).rejects.toBeInstanceOf(SandboxError)
    const raw = await old.call(
      'POST',
      '/process.Process/CloseStdin',
      { 'content-type': 'application/json' },
      JSON.stringify({ process: { pid: command.pid } }),
    )
    expect(await raw.json()).toMatchObject({ code: 'unimplemented' })
    const newer = await sandboxWith({ envdVersion: '0.5.2' })
    const other = await newer.sandbox.commands.run('input', { background: true, stdin: true })
    await other.closeStdin()
    await expect(other.wait()).resolves.toMatchObject({ stdout: '0' })
  })

  test('knows no default user, before 0.4.0: the SDK names one, others are refused [D41]', async () => {
    const { sandbox, call } = await sandboxWith({ envdVersion: '0.3.5' })
    await sandbox.files.write('relative', 'text')
    await expect(sandbox.files.read('/home/user/relative')).resolves.toBe('text')
    await expect(sandbox.files.exists('relative')).resolves.toBe(true)
    expect((await call('GET', '/files?path=relative', {})).status).toBe(400)
    const stat = await call(
      'POST',
      '/filesystem.Filesystem/Stat',
      { 'content-type': 'application/json' },
      '{"path":"relative"}',
    )
    expect(stat.status).toBe(401)
  })

  test('always opens input, before 0.3.0 [D41]', async () => {
    const { sandbox, call } = await sandboxWith({ envdVersion: '0.2.9' })
    await expect(sandbox.commands.run('input', { stdin: false })).rejects.toThrow("can't specify stdin")
    const command = await sandbox.commands.run('input', { background: true })
    await sandbox.commands.sendStdin(command.pid, 'taken')
    await sandbox.commands.kill(command.pid)
    expect(await (await call('GET', '/metrics', {})).json()).toHaveProperty('disk_total')
  })

  test('tells no disk before 0.2.4 [D41]', async () => {
    const { call } = await sandboxWith({ envdVersion: '0.2.3' })
    const metrics: unknown = await (await call('GET', '/metrics', {})).json()
    expect(metrics).toHaveProperty('mem_total')
    expect(metrics).not.toHaveProperty('disk_total')
  })

  test('cannot be snapshotted or forked before 0.5.0 [D42]', async () => {
    const { sandbox } = await sandboxWith({ envdVersion: '0.4.9' })
    await expect(sandbox.createSnapshot()).rejects.toThrow('too old for snapshots')
    await expect(sandbox.fork()).rejects.toThrow('too old for forks')
  })

  test('cannot be secured before 0.2.0, so it cannot be created [D42]', async () => {
    const { connection } = await startEmulator({ envdVersion: '0.1.9' })
    await expect(Sandbox.create('base', connection)).rejects.toMatchObject({ statusCode: 400 })
  })
})

describe('versions', () => {
  test('are compared number by number', () => {
    expect(
      ['0.5.2', '0.5.10', '0.10.0', '1.0.0'].map(
        (version) => isEnvdVersion(version) && hasAbility(version, 'closeStdin'),
      ),
    ).toEqual([true, true, true, true])
    expect(
      ['0.5.1', '0.4.99', '0.0.9'].map((version) => isEnvdVersion(version) && hasAbility(version, 'closeStdin')),
    ).toEqual([false, false, false])
  })

  test.each(['1.2', 'newest', '0.5.x', ''])('of no form are refused: "%s"', async (envdVersion) => {
    const start = startEmulator({ envdVersion })
    await expect(start).rejects.toBeInstanceOf(EmulatorError)
    await expect(start).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  })
})
