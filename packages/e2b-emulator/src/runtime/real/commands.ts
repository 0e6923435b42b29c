import { spawn, type StdioOptions } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { RuntimeError } from '../port.ts'

/** Where the system tools lie on every Linux; the caller's own PATH may leave out `sbin`, and must not choose them. */
export const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** The environment of every tool the runtime starts on the host. */
export const toolEnvironment: Readonly<Record<string, string>> = Object.freeze({
  PATH: systemPath,
  LC_ALL: 'C',
  // The newer mount interface cuts an option at 256 bytes, too short for a list of layers.
  LIBMOUNT_FORCE_MOUNT2: 'always',
})

/** Runs a system tool to its end; rejects with what it wrote to its standard error. */
export function runTool(argv: readonly string[], options: { cwd: string; fds?: readonly number[] }): Promise<string> {
  const [command = '', ...args] = argv
  const stdio: StdioOptions = ['ignore', 'pipe', 'pipe', ...(options.fds ?? [])]
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: options.cwd, env: toolEnvironment, stdio })
    const output: Buffer[] = []
    let complaint = ''
    child.stdout?.on('data', (chunk: Buffer) => output.push(chunk))
    child.stderr?.on('data', (chunk: Buffer) => (complaint = (complaint + chunk.toString()).slice(-2000)))
    child.once('error', (cause) => reject(new RuntimeError('failed', `${command} could not be started`, { cause })))
    child.once('close', (code, signal) => {
      if (code === 0) resolve(Buffer.concat(output).toString())
      else reject(new RuntimeError('failed', `${command} ended with ${signal ?? code}: ${complaint.trim()}`))
    })
  })
}

/** The path of a command among the system's own directories (not what the caller's PATH adds to them). */
export function findOnHost(name: string): string | undefined {
  return systemPath
    .split(':')
    .map((directory) => join(directory, name))
    .find((path) => existsSync(path))
}
