import type { ExecuteCommandOptions, SpawnProcessOptions } from '@mastra/core/workspace'
import { findUnknownName, quoteShell } from '@warmbox/resolution'
import { E2BSandboxError } from './errors.ts'
import { assertFunction, assertRecord, refuse } from './option-checks.ts'

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

/** Added to a command's own timeout for the limit the sandbox enforces, should this process be gone by then. */
const LIMIT_MARGIN_MS = 5_000

/** Most bytes of one argument, or of one variable with its name, that Linux hands to a process. */
const LONGEST_ARGUMENT_BYTES = 131_071

/** @throws E2BSandboxError `INVALID_OPTION`, `ARGUMENT_TOO_LONG` */
export function assertCommandOptions(options: ExecuteCommandOptions): void {
  assertNames(options, COMMAND_OPTIONS, 'executeCommand')
  assertValues(options)
}

/** @throws E2BSandboxError `INVALID_OPTION`, `ARGUMENT_TOO_LONG` */
export function assertSpawnOptions(options: SpawnProcessOptions): void {
  assertNames(options, SPAWN_OPTIONS, 'spawn')
  assertValues(options)
  const { stdinMode } = options
  if (stdinMode !== undefined && stdinMode !== 'pipe' && stdinMode !== 'ignore') {
    refuse(`stdinMode is neither 'pipe' nor 'ignore'`, `Give one of the two, or leave it out for 'pipe'`)
  }
}

/** The line a shell is given: the command as it is, each argument as one word. @throws as {@link assertCommand} */
export function commandLine(command: string, args: readonly string[]): string {
  if (typeof command !== 'string') refuse('The command is not a string', 'Give it as it would be typed into a shell')
  // A copy has no holes, which every would pass over.
  const isList = Array.isArray(args) && [...args].every((argument) => typeof argument === 'string')
  if (!isList) refuse('args is not a list of strings', `Write it like ['-n', '3'], or leave it out`)
  const hasNul = args.some((argument) => argument.includes('\0'))
  if (hasNul) refuse('An argument holds a NUL character', 'Write the text to a file, and give the command its path')
  const line = [command, ...args.map(quoteShell)].join(' ')
  assertCommand(line)
  return line
}

/** @throws E2BSandboxError `INVALID_OPTION` for what no shell can be given, `ARGUMENT_TOO_LONG` */
export function assertCommand(command: unknown): void {
  if (typeof command !== 'string')
    return refuse('The command is not a string', 'Give it as it would be typed into a shell')
  if (command.includes('\0')) refuse('The command holds a NUL character', 'Remove it from the command')
  // The shell is handed the whole of it as one argument.
  assertLength('The command with its arguments', command)
}

/** Limit of a command that the sandbox itself enforces, in whole milliseconds; 0 is none. */
export const enforcedLimit = (timeout: number | undefined): number =>
  timeout ? Math.min(Math.ceil(timeout) + LIMIT_MARGIN_MS, LONGEST_TIMER_MS) : 0

/**
 * Environment of one command. A value that is undefined is left out.
 * @throws E2BSandboxError `INVALID_OPTION`, `ARGUMENT_TOO_LONG`
 */
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
    assertLength(`env.${name}`, `${name}=${value}`)
    return [[name, value]]
  })
  return Object.fromEntries(entries)
}

function assertLength(what: string, text: string): void {
  const bytes = Buffer.byteLength(text)
  if (bytes <= LONGEST_ARGUMENT_BYTES) return
  throw new E2BSandboxError({
    code: 'ARGUMENT_TOO_LONG',
    message: `${what} has ${bytes} bytes, and Linux takes ${LONGEST_ARGUMENT_BYTES} at most`,
    hint: 'Write the text to a file with writeFiles, and give the command its path',
  })
}

/** An option that nobody knows would be dropped without a word, such as `cwd` spelled in another way. */
function assertNames(options: object, known: Readonly<Record<string, true>>, method: string): void {
  assertRecord(`options of ${method}`, options ?? null)
  const unknown = findUnknownName(options, Object.keys(known).toSorted())
  if (unknown === undefined) return
  const hint = unknown.name in SPAWN_OPTIONS ? 'processes.spawn takes it' : unknown.hint
  refuse(`${method} has no option '${unknown.name}'`, hint)
}

function assertSignal(signal: unknown): void {
  const isSignal = typeof signal === 'object' && signal !== null && 'aborted' in signal && 'addEventListener' in signal
  if (signal === undefined || isSignal) return
  refuse('abortSignal is not an AbortSignal', 'Give the signal of an AbortController, or leave it out')
}

function assertValues(options: ExecuteCommandOptions): void {
  const { abortSignal, cwd, env, maxRetainedBytes, onStderr, onStdout, timeout } = options
  assertSignal(abortSignal)
  assertFunction('onStdout', onStdout)
  assertFunction('onStderr', onStderr)
  assertRecord('env', env)
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
