import { isUtf8 } from 'node:buffer'
import { execFile } from 'node:child_process'

import { fail, ImageTagError } from './error.ts'

/**
 * What git gets of this process' environment: enough to start, and where the user's own trust settings lie
 * (`safe.directory`). Neither a `GIT_DIR` of a surrounding hook nor anybody's token.
 */
const inherited = [
  'PATH',
  'HOME',
  'USERPROFILE',
  'XDG_CONFIG_HOME',
  'SystemRoot',
  'TMPDIR',
  'GIT_CONFIG_GLOBAL',
  'GIT_CONFIG_SYSTEM',
  'GIT_CONFIG_NOSYSTEM',
]

const fixed = {
  LC_ALL: 'C',
  GIT_TERMINAL_PROMPT: '0',
  // Neither the index nor anything else of the checkout is written.
  GIT_OPTIONAL_LOCKS: '0',
  // A partial clone would fetch what it lacks; a name must not depend on the network.
  GIT_NO_LAZY_FETCH: '1',
  GIT_ALLOW_PROTOCOL: 'none',
}

/** Settings of the user that would start a program or change which files count. */
const settings = ['-c', 'core.fsmonitor=', '-c', 'core.excludesFile=/dev/null', '-c', 'core.attributesFile=/dev/null']

const MAX_OUTPUT_BYTES = 256 * 1024 * 1024

interface Outcome {
  readonly code: number
  readonly stdout: Buffer
  readonly stderr: string
}

/** {@link gitBytes}, for answers that hold no names of files. */
export async function git(directory: string, args: readonly string[]): Promise<string | undefined> {
  return (await gitBytes(directory, args))?.toString()
}

/** Runs git in `directory`, only to read; answers its stdout. Exit code 1 is git's way to say that there is none: `undefined`. */
export async function gitBytes(directory: string, args: readonly string[]): Promise<Buffer | undefined> {
  const { code, stdout, stderr } = await run(directory, args)
  if (code === 1) return undefined
  return code === 0 ? stdout : fail('GIT_FAILED', `git ${args[0] ?? ''} failed in ${directory}`, gitSays(stderr))
}

/** The top directory of the checkout that `directory` lies in. */
export async function topDirectory(directory: string): Promise<string> {
  const { code, stdout, stderr } = await run(directory, ['rev-parse', '--show-toplevel'])
  if (code !== 0) fail('NO_CHECKOUT', `${directory} is no checkout that git can read`, gitSays(stderr))
  if (!isUtf8(stdout)) fail('NO_CHECKOUT', `The path of ${directory} is not UTF-8`, 'Give it a name that is.')
  return stdout.toString().replace(/\n$/, '')
}

const run = (directory: string, args: readonly string[]): Promise<Outcome> =>
  new Promise((resolve, reject) => {
    execFile(
      'git',
      [...settings, ...args],
      { cwd: directory, env: environment(), encoding: 'buffer', maxBuffer: MAX_OUTPUT_BYTES },
      (error, stdout, stderr) => {
        if (error === null || typeof error.code === 'number') {
          resolve({ code: Number(error?.code ?? 0), stdout, stderr: stderr.toString() })
        } else {
          const [message, hint] =
            error.code === 'ENOENT'
              ? ['git was not found', 'It must be on PATH.']
              : [`git ${args[0] ?? ''} did not end by itself in ${directory}`, String(error.code ?? error.signal)]
          reject(new ImageTagError({ code: 'GIT_FAILED', message, hint, cause: error }))
        }
      },
    )
  })

const environment = (): Record<string, string> => {
  const kept: Record<string, string> = { ...fixed }
  for (const name of inherited) {
    const value = process.env[name]
    if (value !== undefined) kept[name] = value
  }
  return { ...kept, ...trustedDirectories() }
}

/** What the environment adds to `safe.directory`, as CI systems do; other settings given so may hold a token. */
const trustedDirectories = (): Record<string, string> => {
  const kept: Record<string, string> = {}
  let count = 0
  for (let position = 0; position < Number(process.env['GIT_CONFIG_COUNT'] ?? 0); position++) {
    const key = process.env[`GIT_CONFIG_KEY_${position}`]
    // git refuses a count without its keys; here whatever follows is left out.
    if (key === undefined) break
    if (key.toLowerCase() !== 'safe.directory') continue
    kept[`GIT_CONFIG_KEY_${count}`] = key
    kept[`GIT_CONFIG_VALUE_${count}`] = process.env[`GIT_CONFIG_VALUE_${position}`] ?? ''
    count++
  }
  return count === 0 ? {} : { ...kept, GIT_CONFIG_COUNT: `${count}` }
}

/** What git said, less what may be a credential in a URL it quotes. */
const gitSays = (stderr: string): string => `git says: ${stderr.trim().replaceAll(/\/\/[^/\s]*@/g, '//')}`
