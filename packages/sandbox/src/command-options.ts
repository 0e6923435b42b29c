import type { ExecuteCommandOptions, SpawnProcessOptions } from '@mastra/core/workspace'
import { E2BSandboxError } from './errors.ts'

/** Longest delay a timer holds; a longer one would fire at once. */
const LONGEST_TIMER_MS = 2_147_483_647

const COMMAND_OPTIONS: Readonly<Record<keyof ExecuteCommandOptions, true>> = {
  timeout: true,
  env: true,
  cwd: true,
  onStdout: true,
  onStderr: true,
  abortSignal: true,
  maxRetainedBytes: true,
}

const SPAWN_OPTIONS: Readonly<Record<keyof SpawnProcessOptions, true>> = {
  ...COMMAND_OPTIONS,
  stdinMode: true,
  originalInvocation: true,
}

/** @throws E2BSandboxError `INVALID_OPTION` */
export function assertCommandOptions(options: ExecuteCommandOptions): void {
  assertNames(options, COMMAND_OPTIONS, 'executeCommand')
  assertValues(options)
}

/** @throws E2BSandboxError `INVALID_OPTION` */
export function assertSpawnOptions(options: SpawnProcessOptions): void {
  assertNames(options, SPAWN_OPTIONS, 'spawn')
  assertValues(options)
  const { stdinMode } = options
  if (stdinMode !== undefined && stdinMode !== 'pipe' && stdinMode !== 'ignore') {
    refuse(`stdinMode is neither 'pipe' nor 'ignore'`, `Give one of the two, or leave it out for 'pipe'`)
  }
}

/** Environment of one command. A value that is undefined is left out. @throws E2BSandboxError `INVALID_OPTION` */
export function commandEnvironment(env: Readonly<Record<string, unknown>>): Record<string, string> {
  const entries = Object.entries(env).flatMap(([name, value]): [string, string][] => {
    if (value === undefined) return []
    if (name === '' || /[=\0]/.test(name)) {
      return refuse(`env holds an impossible name: '${name}'`, 'A name has no = and no NUL')
    }
    // The value may be a secret, so it is not quoted.
    if (typeof value !== 'string' || value.includes('\0')) {
      return refuse(
        `env.${name} is not a string without NUL`,
        'Convert the value to a string, or leave the variable out',
      )
    }
    return [[name, value]]
  })
  return Object.fromEntries(entries)
}

/** An option that nobody knows would be dropped without a word, such as `cwd` spelled in another way. */
function assertNames(options: object, known: Readonly<Record<string, true>>, method: string): void {
  const unknown = Object.keys(options).find((name) => known[name] !== true)
  if (unknown === undefined) return
  const hint =
    unknown in SPAWN_OPTIONS
      ? 'processes.spawn takes it'
      : `${method} takes ${Object.keys(known).toSorted().join(', ')}`
  refuse(`${method} has no option '${unknown}'`, hint)
}

function assertValues({ cwd, env, maxRetainedBytes, timeout }: ExecuteCommandOptions): void {
  if (timeout !== undefined && !(Number.isFinite(timeout) && timeout >= 0 && timeout <= LONGEST_TIMER_MS)) {
    refuse(
      `timeout is not a time in milliseconds: ${timeout}`,
      `Give a number from 1 to ${LONGEST_TIMER_MS}, or leave it out for no limit`,
    )
  }
  if (cwd !== undefined && (typeof cwd !== 'string' || cwd === '' || cwd.includes('\0'))) {
    refuse('cwd is not a directory', 'Give a path, or leave it out')
  }
  const isLimit = maxRetainedBytes === Number.POSITIVE_INFINITY || Number.isInteger(maxRetainedBytes)
  if (maxRetainedBytes !== undefined && !(isLimit && maxRetainedBytes >= 0)) {
    refuse(`maxRetainedBytes is not a number of bytes: ${maxRetainedBytes}`, 'Give a whole number, or Infinity for all')
  }
  commandEnvironment(env ?? {})
}

function refuse(message: string, hint: string): never {
  throw new E2BSandboxError({ code: 'INVALID_OPTION', message, hint })
}
