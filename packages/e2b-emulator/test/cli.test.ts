import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Sandbox } from 'e2b'
import { describe, expect, onTestFinished, test } from 'vitest'
import { eventually } from './support/emulator.ts'

const bin = fileURLToPath(new URL('../src/bin.ts', import.meta.url))

/** The command with a temporary directory of its own, so that what it leaves there can be seen. */
async function run(...args: string[]) {
  const temporary = await mkdtemp(join(tmpdir(), 'emulator-cli-'))
  onTestFinished(() => rm(temporary, { recursive: true, force: true }))
  const env = { ...process.env, TMPDIR: temporary }
  const child = spawn(process.execPath, [bin, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const written = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => (written.stdout += String(chunk)))
  child.stderr.on('data', (chunk: Buffer) => (written.stderr += String(chunk)))
  return { child, written, temporary, ended: once(child, 'close') }
}

describe('the command line', { timeout: 30_000 }, () => {
  test('serves, prints what to export, and ends cleanly on a signal', async () => {
    const { child, written, temporary, ended } = await run('--runtime', 'scripted')
    const variables = await eventually(() => {
      const found = Object.fromEntries(
        [...written.stdout.matchAll(/^export (\w+)=(\S+)$/gm)].map(([, name, value]) => [name, value]),
      )
      return found['E2B_API_KEY'] === undefined ? undefined : found
    })
    const { E2B_API_URL: apiUrl = '', E2B_SANDBOX_URL: sandboxUrl = '', E2B_API_KEY: apiKey = '' } = variables
    const sandbox = await Sandbox.create('base', { apiUrl, sandboxUrl, apiKey })
    expect(await sandbox.isRunning()).toBe(true)
    expect(written.stderr).toContain('runtime: scripted')
    child.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
    expect(await readdir(temporary)).toEqual([])
  })

  test.each([
    [['--port', 'x'], '--port must be a port number, not x'],
    [['--runtime', 'docker'], '--runtime must be one of auto, real, scripted, not docker'],
    [['--nonsense'], 'Usage: warmbox-e2b-emulator'],
  ])('refuses %j with exit code 2', async (args, message) => {
    const { written, ended } = await run(...args)
    expect(await ended).toEqual([2, null])
    expect(written.stderr).toContain(message)
  })
})
