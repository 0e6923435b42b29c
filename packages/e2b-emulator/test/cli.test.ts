import { createServer } from 'node:net'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { Sandbox } from 'e2b'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { main } from '../src/cli.ts'
import { startBuild, startCommandLine } from './support/command-line.ts'

describe('the command line', { timeout: 120_000 }, () => {
  test.each(['SIGTERM', 'SIGHUP'] as const)('serves, prints what to export, and ends cleanly on %s', async (signal) => {
    const { child, written, temporary, ended, connection } = await startCommandLine('--runtime', 'scripted')
    const sandbox = await Sandbox.create('base', await connection())
    expect(await sandbox.isRunning()).toBe(true)
    await startBuild(await connection(), 'true')
    expect(await readdir(temporary)).toHaveLength(1)
    expect(written.stderr).toContain('runtime: scripted')
    child.kill(signal)
    expect(await ended).toEqual([0, null])
    expect(await readdir(temporary)).toEqual([])
  })

  test.each(['SIGKILL', 'SIGTERM'] as const)('leaves nothing behind where %s takes it at once', async (second) => {
    const { child, temporary, ended, connection, expectNothingLeft } = await startCommandLine('--runtime', 'scripted')
    await startBuild(await connection(), 'true')
    expect(await readdir(temporary)).toHaveLength(1)
    if (second === 'SIGTERM') child.kill('SIGTERM')
    child.kill(second)
    await ended
    await expectNothingLeft()
  })

  test.each([
    [['--port', 'x'], '--port must be a number from 0 to 65535, not "x"'],
    [['--port', ''], 'not ""'],
    [['--port', '1e3'], 'not "1e3"'],
    [['--port', '0x50'], 'not "0x50"'],
    [['--port', ' 80'], 'not " 80"'],
    [['--port', '65536'], 'not "65536"'],
    [['--runtime', 'docker'], '--runtime must be one of auto, real, scripted, not "docker"'],
    [['--nonsense'], 'Usage: warmbox-e2b-emulator'],
  ])('refuses %j with exit code 2', async (args, message) => {
    const { code, error, log } = await run(args)
    expect(code).toBe(2)
    expect(error).toContain(message)
    expect(log).toBe('')
  })

  test('tells its version and its usage on standard output', async () => {
    const manifest: { readonly version: string } = JSON.parse(
      await readFile(new URL('../package.json', import.meta.url), 'utf8'),
    )
    expect(await run(['--version'])).toEqual({ code: 0, error: '', log: manifest.version })
    expect(await run(['--help'])).toMatchObject({ code: 0, error: '', log: expect.stringContaining('--version') })
  })

  test('says in two lines that a port is taken, and what to do', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void taken.close())
    await once(taken, 'listening')
    const address = taken.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    expect(await run(['--runtime', 'scripted', '--port', String(port)])).toEqual({
      code: 1,
      error: `cannot listen on port ${port} of 127.0.0.1: something listens there already
Use another port, or 0 for any that is free.`,
      log: '',
    })
  })
})

/** Runs the command in this process, for what ends by itself. */
async function run(args: readonly string[]) {
  const [error, log] = [vi.spyOn(console, 'error'), vi.spyOn(console, 'log')]
  const written = ({ mock }: typeof log) => mock.calls.map(([line]) => String(line)).join('\n')
  try {
    for (const spy of [error, log]) spy.mockImplementation(() => undefined)
    const code = await main(args)
    return { code, error: written(error), log: written(log) }
  } finally {
    for (const spy of [error, log]) spy.mockRestore()
  }
}
