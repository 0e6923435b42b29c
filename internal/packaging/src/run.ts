import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/** Runs a program and answers its output; a failure carries everything it printed, which is what a person needs here. */
export async function run(program: string, args: readonly string[], cwd: string): Promise<string> {
  try {
    const { stdout } = await execute(program, [...args], { cwd, maxBuffer: 64 * 1024 * 1024 })
    return stdout
  } catch (error) {
    throw new Error(`${program} ${args.join(' ')} failed in ${cwd}\n${outputOf(error)}`, { cause: error })
  }
}

const outputOf = (error: unknown): string =>
  error instanceof Error && 'stdout' in error && 'stderr' in error ? String(error.stdout) + String(error.stderr) : ''
