import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Template } from 'e2b'
import { expect, onTestFinished, vi } from 'vitest'
import { eventually } from './emulator.ts'

const bin = fileURLToPath(new URL('../../src/bin.ts', import.meta.url))

/** The command, with a temporary directory of its own so that what it leaves there can be seen; ends with the test. */
export async function startCommandLine(...args: string[]) {
  const temporary = await mkdtemp(join(tmpdir(), 'emulator-cli-'))
  onTestFinished(() => rm(temporary, { recursive: true, force: true }))
  const env = { ...process.env, TMPDIR: temporary }
  const child = spawn(process.execPath, [bin, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'close')
  onTestFinished(async () => {
    // Its own cleaning up comes before the directory goes.
    child.kill('SIGTERM')
    await ended
  })
  const written = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => (written.stdout += String(chunk)))
  child.stderr.on('data', (chunk: Buffer) => (written.stderr += String(chunk)))
  /** What it told the shell to export, once it has. */
  const variables = () =>
    eventually(() => {
      const found = Object.fromEntries(
        [...written.stdout.matchAll(/^export (\w+)=(\S+)$/gm)].map(([, name = '', value = '']) => [name, value]),
      )
      return found['E2B_API_KEY'] === undefined ? undefined : found
    })
  /** Options for the SDK, once it serves. */
  const connection = async () => {
    const { E2B_API_URL: apiUrl = '', E2B_SANDBOX_URL: sandboxUrl = '', E2B_API_KEY: apiKey = '' } = await variables()
    return { apiUrl, sandboxUrl, apiKey }
  }
  /** Waits until nothing of what it put on the host is there any more. */
  const expectNothingLeft = () =>
    vi.waitFor(async () => expect(await readdir(temporary)).toEqual([]), { timeout: 60_000, interval: 50 })
  return { child, written, temporary, ended, variables, connection, expectNothingLeft }
}

export type CommandLine = Awaited<ReturnType<typeof startCommandLine>>

/** Starts a build that uploads a file and then runs `command`, which is not to end; resolves once the build has begun. */
export async function startBuild(connection: { readonly apiUrl: string; readonly apiKey: string }, command: string) {
  const fileContextPath = await mkdtemp(join(tmpdir(), 'emulator-context-'))
  onTestFinished(() => rm(fileContextPath, { recursive: true }))
  await writeFile(join(fileContextPath, 'note'), 'uploaded')
  const template = Template({ fileContextPath }).fromImage('e2bdev/base').copy('note', '/note').runCmd(command)
  await Template.buildInBackground(template, 'endless', connection)
}
