import { execFile } from 'node:child_process'
import type { SyncableSandbox } from '@warmbox/repo-template'
import { temporaryDirectory } from './fixtures.ts'

export interface LocalSandbox extends SyncableSandbox {
  /** Everything but the environment of every command. */
  readonly commands: string[]
}

/** Runs commands on this machine with an environment of their own, as a sandbox would. */
export const localSandbox = async (environment: Record<string, string> = {}): Promise<LocalSandbox> => {
  const home = await temporaryDirectory()
  const commands: string[] = []
  return {
    commands,
    executeCommand: (command, args = [], options = {}) => {
      commands.push([command, ...args].join(' '))
      return new Promise((resolve) => {
        execFile(
          command,
          // What a login shell of this machine reads takes long and is not under test.
          args.map((argument) => (argument === '-lc' ? '-c' : argument)),
          {
            cwd: home,
            env: { PATH: process.env['PATH'], HOME: home, ...environment, ...options.env },
            timeout: options.timeout,
            signal: options.abortSignal,
          },
          (error, stdout, stderr) => {
            const exitCode = error === null ? 0 : typeof error.code === 'number' ? error.code : 1
            resolve({ exitCode, stdout, stderr, success: exitCode === 0 })
          },
        )
      })
    },
  }
}
