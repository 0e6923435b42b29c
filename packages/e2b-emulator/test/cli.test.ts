import { readdir } from 'node:fs/promises'
import { Sandbox } from 'e2b'
import { describe, expect, test } from 'vitest'
import { startCommandLine } from './support/command-line.ts'

describe('the command line', { timeout: 120_000 }, () => {
  test('serves, prints what to export, and ends cleanly on a signal', async () => {
    const { child, written, temporary, ended, variables } = await startCommandLine('--runtime', 'scripted')
    const { E2B_API_URL: apiUrl = '', E2B_SANDBOX_URL: sandboxUrl = '', E2B_API_KEY: apiKey = '' } = await variables()
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
    const { written, ended } = await startCommandLine(...args)
    expect(await ended).toEqual([2, null])
    expect(written.stderr).toContain(message)
  })
})
