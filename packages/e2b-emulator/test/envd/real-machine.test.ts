import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Sandbox } from 'e2b'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createEnvd, type SandboxForEnvd } from '../../src/envd/index.ts'
import { createRealRuntime, probeNamespaces } from '../../src/runtime/real/index.ts'
import type { Runtime } from '../../src/runtime/port.ts'
import { accountSeen } from '../support/account.ts'
import { eventually } from './support/eventually.ts'
import { listen } from './support/loopback.ts'

const probe = await probeNamespaces()
const skipped = probe.available ? '' : ` (skipped: ${probe.reason})`

describe.skipIf(!probe.available)(`a machine with real processes${skipped}`, { timeout: 180_000 }, () => {
  const opened: { close(): Promise<unknown> }[] = []
  let sandbox: Sandbox

  beforeAll(async () => {
    const dataDirectory = await mkdtemp(join(tmpdir(), 'envd-real-'))
    opened.push({ close: () => rm(dataDirectory, { recursive: true, force: true }) })
    const runtime: Runtime = await createRealRuntime({ dataDirectory, certificateAuthorities: [] })
    opened.push(runtime)
    const machine = await runtime.createMachine(await runtime.baseImage('debian'), { id: 'real-1', hostname: 'real' })
    const description: SandboxForEnvd = {
      id: 'real-1',
      machine,
      accessToken: undefined,
      defaultUser: 'user',
      defaultWorkdir: undefined,
      envs: { FROM_CREATE: 'yes' },
    }
    const server = await listen(createEnvd({ machineOf: () => description }))
    opened.push(server)
    sandbox = new Sandbox({ sandboxId: 'real-1', envdVersion: '0.6.13', sandboxUrl: server.url, apiKey: 'e2b_0000' })
  }, 180_000)

  afterAll(async () => {
    for (const resource of opened.toReversed()) await resource.close()
  }, 180_000)

  test('runs a command as the user, in the home, with the environment of sandbox and call', async () => {
    const result = await sandbox.commands.run('whoami; pwd; echo $FROM_CREATE $FROM_CALL $E2B_SANDBOX_ID', {
      envs: { FROM_CALL: 'too' },
    })
    expect(result.stdout).toBe(`${accountSeen('user')}\n/home/user\nyes too real-1\n`)
  })

  test('tells both streams and the exit code apart', async () => {
    await expect(sandbox.commands.run('echo out; echo err >&2; exit 7')).rejects.toMatchObject({
      exitCode: 7,
      stdout: 'out\n',
      stderr: 'err\n',
    })
  })

  test('feeds input until it is closed', async () => {
    const command = await sandbox.commands.run('wc -c', { background: true, stdin: true })
    await command.sendStdin('four')
    await command.closeStdin()
    expect((await command.wait()).stdout.trim()).toBe('4')
  })

  test('kills a command that runs', async () => {
    const command = await sandbox.commands.run('exec sleep 1000', { background: true })
    expect(await command.kill()).toBe(true)
    await expect(command.wait()).rejects.toMatchObject({ exitCode: -1, error: 'signal: killed' })
    await eventually(async () => expect(await sandbox.commands.list()).toEqual([]))
  })

  test('passes on 16 MB of output without losing a byte', async () => {
    const result = await sandbox.commands.run('head -c 16777216 /dev/zero | tr "\\0" x')
    expect(result.stdout).toHaveLength(16_777_216)
    expect(/^x+$/.test(result.stdout)).toBe(true)
  })

  test('runs two hundred short commands at once without mixing up or losing anything', async () => {
    const numbers = Array.from({ length: 200 }, (_, index) => index)
    const results = await Promise.all(
      numbers.map((number) => sandbox.commands.run(`echo ${number}; echo -${number} >&2`)),
    )
    expect(results.map(({ stdout, stderr }) => stdout + stderr)).toEqual(
      numbers.map((number) => `${number}\n-${number}\n`),
    )
  })

  test('writes files that commands see, and reads what commands write', async () => {
    await sandbox.files.write('made/by/sdk', 'hello')
    expect((await sandbox.commands.run('cat made/by/sdk && stat -c %U made/by/sdk')).stdout).toBe(
      `hello${accountSeen('user')}\n`,
    )
    await sandbox.commands.run('echo from the shell > shell.txt')
    expect(await sandbox.files.read('shell.txt')).toBe('from the shell\n')
    expect((await sandbox.files.list('/home/user')).map((entry) => entry.name)).toEqual(
      expect.arrayContaining(['made', 'shell.txt']),
    )
  })

  test('watches what commands do', async () => {
    await sandbox.files.makeDir('/tmp/watched')
    const names: string[] = []
    const handle = await sandbox.files.watchDir('/tmp/watched', (event) => void names.push(event.name))
    await sandbox.commands.run('touch /tmp/watched/new')
    await eventually(() => expect(names).toContain('new'))
    await handle.stop()
  })

  test('gives the SDK a terminal: keys, size, a second reader, the end [D23]', async () => {
    const written = { first: '', second: '' }
    const decoder = new TextDecoder()
    const first = await sandbox.pty.create({
      cols: 91,
      rows: 33,
      envs: { PS1: '' },
      cwd: '/tmp',
      onData: (data) => void (written.first += decoder.decode(data, { stream: true })),
    })
    const type = (keys: string) => sandbox.pty.sendInput(first.pid, new TextEncoder().encode(keys))
    const second = await sandbox.pty.connect(first.pid, {
      onData: (data) => void (written.second += new TextDecoder().decode(data)),
    })
    await type('pwd; stty size; echo "$TERM"\n')
    await eventually(() => expect(written.first).toMatch(/\/tmp\r\n33 91\r\nxterm-256color\r\n/))
    await sandbox.pty.resize(first.pid, { cols: 20, rows: 50 })
    await type('stty size; exit 3\n')
    await expect(first.wait()).rejects.toMatchObject({ exitCode: 3 })
    await expect(second.wait()).rejects.toMatchObject({ exitCode: 3 })
    expect(written.first).toContain('50 20')
    expect(written.second).toContain('50 20')
    expect(await sandbox.pty.kill(first.pid)).toBe(false)
  })

  test('kills a terminal, and lists it while it runs [D23]', async () => {
    const terminal = await sandbox.pty.create({ cols: 80, rows: 24, user: 'root', onData: () => undefined })
    expect(await sandbox.commands.list()).toMatchObject([{ pid: terminal.pid, cmd: '/bin/bash', args: ['-i', '-l'] }])
    await expect(sandbox.commands.sendStdin(terminal.pid, 'x')).rejects.toThrow('the process has a terminal')
    expect(await sandbox.pty.kill(terminal.pid)).toBe(true)
    await expect(terminal.wait()).rejects.toMatchObject({ error: 'signal: killed' })
  })
})
