import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { run } from '../src/run.ts'

const program = join(import.meta.dirname, '../src/main.ts')

export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

type Environment = Readonly<Record<string, string>>

/** Runs the program as a user does, in a process of its own, with nothing in its environment but what is given. */
export const imageTagProcess = (
  args: readonly string[],
  { cwd = tmpdir(), environment = {} }: { readonly cwd?: string; readonly environment?: Environment } = {},
): Promise<Ended> =>
  new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      ['--conditions=@warmbox/source', program, ...args],
      { cwd, env: { PATH: process.env['PATH'], HOME: '/nonexistent', ...environment } },
      (error, stdout, stderr) => {
        if (error !== null && typeof error.code !== 'number') reject(error)
        else resolve({ code: Number(error?.code ?? 0), stdout, stderr })
      },
    )
  })

/** Runs the program in this process, which takes a fraction of the time; git runs for real all the same. */
export async function imageTag(args: readonly string[], environment: Environment = {}): Promise<Ended> {
  let stdout = ''
  let stderr = ''
  const code = await run({
    args,
    environment,
    print: (text) => (stdout += text),
    say: (line) => (stderr += `${line}\n`),
  })
  return { code, stdout, stderr }
}

/** The two lines of a run that worked. */
export function readNames({ code, stdout, stderr }: Ended): { readonly image: string; readonly cacheKey: string } {
  const [, image, cacheKey] = /^image=(.+)\ncache_key=(.+)\n$/.exec(stdout) ?? []
  if (image === undefined || cacheKey === undefined) throw new Error(`exit code ${code}: ${stdout}${stderr}`)
  return { image, cacheKey }
}

export const namesOf = async (args: readonly string[], environment: Environment = {}) =>
  readNames(await imageTag(args, environment))
