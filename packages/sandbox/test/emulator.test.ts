import { Workspace } from '@mastra/core/workspace'
import { Template } from 'e2b'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { emulate, type EmulatedPlatform, withoutNamespaces } from './support/emulator.ts'
import { failure } from './support/index.ts'

const reason = withoutNamespaces === undefined ? '' : ` (skipped: ${withoutNamespaces})`

describe.skipIf(withoutNamespaces !== undefined)(`on the emulator with real processes${reason}`, () => {
  let platform: EmulatedPlatform

  beforeAll(async () => {
    platform = await emulate({ runtime: 'real' })
  }, 60_000)
  afterAll(() => platform.close())

  test('start, command, files, stop, resume, destroy', async () => {
    const sandbox = platform.sandbox({ id: 'journey', env: { GREETING: 'hello' } })

    expect(await sandbox.start()).toEqual({ outcome: 'created' })
    expect(await sandbox.executeCommand('echo "$GREETING $0"', [`it's`, '$HOME'])).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining(`hello`),
    })
    await sandbox.writeFiles([
      { path: 'notes/day.txt', content: 'grüße\n' },
      { path: 'notes/key', content: 'secret', mode: 0o600 },
    ])
    const written = await sandbox.executeCommand('cat notes/day.txt notes/key; stat -c %a notes/key notes/day.txt')
    expect(written.stdout).toBe('grüße\nsecret600\n644\n')

    await sandbox._stop()
    const elsewhere = platform.sandbox({ id: 'journey' })
    expect(await elsewhere.start()).toEqual({ outcome: 'connected' })
    expect(elsewhere.sandboxId).toBe(sandbox.sandboxId)
    expect((await elsewhere.executeCommand('cat', ['notes/day.txt'])).stdout).toBe('grüße\n')

    await elsewhere._destroy()
    const successor = platform.sandbox({ id: 'journey' })
    expect(await successor.start()).toEqual({ outcome: 'created' })
    expect((await successor.executeCommand('ls notes')).exitCode).not.toBe(0)
    await successor._destroy()
  })

  test('arguments of any kind arrive as they are', async () => {
    const sandbox = platform.sandbox()
    const args = [`it's`, '$(touch canary)', '`id`', 'a\nb', '-n', '', '*', '\\', '"', 'ü€🎉', '; exit 3', '~']

    const result = await sandbox.executeCommand(`printf '<%s>'`, args)

    expect(result.stdout).toBe(args.map((arg) => `<${arg}>`).join(''))
    expect((await sandbox.executeCommand('ls canary')).exitCode).not.toBe(0)
    await sandbox._destroy()
  })

  test('a command that reads stdin sees its end at once', async () => {
    const sandbox = platform.sandbox()

    expect(await sandbox.executeCommand('cat; read line; echo done')).toMatchObject({ exitCode: 0, stdout: 'done\n' })
    await sandbox._destroy()
  })

  test('timeout, abort, kill and exit are four results', async () => {
    const sandbox = platform.sandbox()
    await sandbox.start()
    const abort = new AbortController()

    const timeout = await sandbox.executeCommand('echo begun; exec sleep 60', [], { timeout: 500 })
    const aborting = sandbox.executeCommand('echo begun; exec sleep 60', [], {
      abortSignal: abort.signal,
      onStdout: () => abort.abort(),
    })
    const handle = await sandbox.processes.spawn('exec sleep 60')
    expect(await handle.kill()).toBe(true)

    expect(timeout).toMatchObject({ endedBy: 'timeout', exitCode: 124, stdout: 'begun\n' })
    expect(await aborting).toMatchObject({ endedBy: 'abort', exitCode: 137, stdout: 'begun\n' })
    expect(await handle.wait()).toMatchObject({ endedBy: 'kill', exitCode: 137 })
    expect(await sandbox.executeCommand('exit 137')).toMatchObject({ endedBy: 'exit', exitCode: 137 })
    await sandbox._destroy()
  })

  test('a background process takes input, is found from elsewhere and outlives its starter', async () => {
    const sandbox = platform.sandbox({ id: 'background' })
    const handle = await sandbox.processes.spawn('while read line; do echo "got $line"; done; echo end')

    await handle.sendStdin('one\n')
    await expect.poll(() => handle.stdout, { timeout: 10_000 }).toBe('got one\n')
    const elsewhere = platform.sandbox({ id: 'background' })
    expect(await elsewhere.processes.list()).toContainEqual(expect.objectContaining({ pid: handle.pid, running: true }))
    const followed = await elsewhere.processes.get(handle.pid)
    await handle.sendStdin('two\n')
    await expect.poll(() => followed?.stdout, { timeout: 10_000 }).toBe('got two\n')
    await handle.closeStdin()

    expect(await handle.wait()).toMatchObject({ exitCode: 0, stdout: 'got one\ngot two\nend\n' })
    await sandbox._destroy()
  })

  test('a directory that does not exist is an error, one that is to be made is not', async () => {
    const sandbox = platform.sandbox({ workingDirectory: '/home/user/app' })

    expect(await failure(sandbox.executeCommand('ls', [], { cwd: '/nowhere' }))).toMatchObject({ code: 'BAD_REQUEST' })
    expect((await sandbox.executeCommand('mkdir app && pwd')).stdout).toBe('/home/user\n')
    expect((await sandbox.executeCommand('pwd')).stdout).toBe('/home/user/app\n')
    await sandbox._destroy()
  })

  test('starts from a template that it builds, and once it is ready from the same one', async () => {
    const template = Template().fromTemplate('base').runCmd('echo baked > /home/user/baked.txt')
    const spec = { ref: 'baked:v1', template }
    const first = platform.sandbox({ template: spec })
    const second = platform.sandbox({ template: spec })

    await first.start()
    await second.start()

    expect(first.lastBoot).toMatchObject({ ref: 'baked:v1', rung: 'built' })
    expect(second.lastBoot).toMatchObject({ ref: 'baked:v1', rung: 'exact' })
    expect((await second.executeCommand('cat baked.txt')).stdout).toBe('baked\n')
    await Promise.all([first._destroy(), second._destroy()])
  }, 60_000)

  test('large output arrives without loss', async () => {
    const sandbox = platform.sandbox()

    const { stdout } = await sandbox.executeCommand('seq 1 200000')

    expect(stdout).toBe(Array.from({ length: 200_000 }, (_, index) => `${index + 1}\n`).join(''))
    await sandbox._destroy()
  }, 60_000)

  test('killed behind our back, it is replaced for the next command', async () => {
    const sandbox = platform.sandbox({ id: 'killed' })
    await sandbox.start()
    const lost = sandbox.sandboxId
    await sandbox.e2b.kill()

    expect((await sandbox.executeCommand('echo alive')).stdout).toBe('alive\n')

    expect(sandbox.sandboxId).not.toBe(lost)
    await sandbox._destroy()
  })

  test('carries a Mastra workspace', async () => {
    const sandbox = platform.sandbox()
    const workspace = new Workspace({ sandbox })
    await workspace.init()

    expect(workspace.sandbox).toBe(sandbox)
    expect(await sandbox.executeCommand('uname')).toMatchObject({ stdout: 'Linux\n' })
    await workspace.destroy()
    expect(sandbox.status).toBe('destroyed')
    expect(platform.emulator.control.sandboxes()).toEqual([])
  })
})
