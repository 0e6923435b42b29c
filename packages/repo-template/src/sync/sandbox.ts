import { createRedactor, quoteShell } from '@warmbox/resolution'
import { ownGitLine } from '../checkout/git-lines.ts'
import { DeadlineError, withDeadline } from '../deadline.ts'
import { RepoTemplateError, type RepoTemplateErrorCode } from '../errors.ts'

/** What of a Mastra sandbox a sync needs; any provider's fits. */
export interface SyncableSandbox {
  executeCommand?(
    command: string,
    args?: string[],
    options?: {
      env?: Record<string, string>
      /** Milliseconds. */
      timeout?: number
      abortSignal?: AbortSignal
    },
  ): Promise<{ exitCode: number; stdout: string; stderr: string; success: boolean }>
}

export interface ScriptRun {
  /** Of the error thrown for a non-zero exit code. */
  readonly code: Extract<RepoTemplateErrorCode, 'SYNC_FAILED' | 'SETUP_FAILED'>
  /** For a person: "fetch", "setup 1 of 2". */
  readonly name: string
  readonly lines: readonly string[]
  /** Only this script sees it. */
  readonly env?: Readonly<Record<string, string>>
}

export interface ScriptRunner {
  /** Standard output of the script. Ends with the signal and the time limit, whatever the sandbox makes of them. */
  run(script: ScriptRun): Promise<string>
}

/** Enough to see what went wrong, little enough for a log line. */
const tailLength = 2000

type Execute = NonNullable<SyncableSandbox['executeCommand']>

/** @throws RepoTemplateError `SANDBOX_UNSUPPORTED` for a sandbox that cannot run commands, or what is none. */
export const executorOf = (sandbox: SyncableSandbox): Execute => {
  const given: unknown = sandbox
  if (typeof given === 'object' && given !== null && typeof sandbox.executeCommand === 'function') {
    return sandbox.executeCommand.bind(sandbox)
  }
  throw new RepoTemplateError({
    code: 'SANDBOX_UNSUPPORTED',
    field: 'sandbox',
    message: 'The sandbox has no executeCommand',
    hint: 'Give a sandbox of a Mastra workspace, or an object with such a method.',
  })
}

/**
 * Runs scripts in a sandbox under `set -euo pipefail`. The script is the one argument of `bash -lc`; a provider that
 * joins command and arguments quotes it. Secrets travel in `env` and are masked in errors.
 *
 * @throws RepoTemplateError `SANDBOX_UNSUPPORTED` for a sandbox that cannot run commands; from `run` for one whose answer is
 * none, and `SYNC_TIMEOUT`.
 */
export const scriptRunner = (
  sandbox: SyncableSandbox,
  options: {
    readonly secrets: readonly string[]
    readonly timeoutMs: number
    readonly signal: AbortSignal | undefined
  },
): ScriptRunner => {
  const execute = executorOf(sandbox)
  const redactor = createRedactor(options.secrets)
  return {
    async run({ code, name, lines, env }) {
      const script = ['set -euo pipefail', ownGitLine, ...lines].join('\n')
      const result = await inTime(name, options.timeoutMs, options.signal, async (abortSignal) => {
        try {
          return await execute('bash', ['-lc', script], {
            timeout: options.timeoutMs,
            abortSignal,
            ...(env === undefined ? {} : { env: { ...env } }),
          })
        } catch (error) {
          // It may quote what the sandbox was given.
          throw redactor.error(error)
        }
      })
      assertAnswer(result)
      if (result.exitCode === 0) return result.stdout
      const output = redactor.text(`${result.stdout}\n${result.stderr}`.trim()).slice(-tailLength)
      throw new RepoTemplateError({
        code,
        message: `${name} failed with exit code ${result.exitCode}${output === '' ? '' : `: ${output}`}`,
      })
    },
  }
}

const assertAnswer = (result: unknown): void => {
  const given = typeof result === 'object' && result !== null ? result : {}
  const isText = (name: string): boolean => typeof Reflect.get(given, name) === 'string'
  if (typeof Reflect.get(given, 'exitCode') === 'number' && isText('stdout') && isText('stderr')) return
  throw new RepoTemplateError({
    code: 'SANDBOX_UNSUPPORTED',
    field: 'sandbox',
    message: 'The executeCommand of the sandbox answered no exit code and output',
    hint: 'It must answer { exitCode, stdout, stderr }, as those of Mastra do.',
  })
}

/**
 * Work that ends with the signal's reason, or after `milliseconds`, also where it goes on.
 *
 * @throws RepoTemplateError `SYNC_TIMEOUT`
 */
export const inTime = async <T>(
  name: string,
  milliseconds: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  try {
    const result = await withDeadline(milliseconds, signal, work)
    signal?.throwIfAborted()
    return result
  } catch (cause) {
    if (signal?.aborted === true) throw signal.reason
    if (!(cause instanceof DeadlineError)) throw cause
    throw new RepoTemplateError({
      code: 'SYNC_TIMEOUT',
      message: `${name} did not end within ${milliseconds} ms`,
      hint: 'timeoutMs says how long a single command may take.',
      cause,
    })
  }
}

/** `name=value` lines of a script's output, which carry one line of text each. */
export const readFields = (output: string): ReadonlyMap<string, string> =>
  new Map(
    output.split('\n').flatMap((line) => {
      const [, name, value] = /^warmbox:([a-z]+)=(.*)$/.exec(line) ?? []
      return name === undefined || value === undefined ? [] : [[name, value] as const]
    }),
  )

/** A line that prints such a field; `value` is shell text, already quoted. */
export const fieldLine = (name: string, value: string): string => `printf '%s\\n' "warmbox:${name}=${value}"`

/** Assigns a shell variable. */
export const assign = (variable: string, value: string): string => `${variable}=${quoteShell(value)}`
