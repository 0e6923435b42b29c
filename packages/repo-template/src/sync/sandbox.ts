import { createRedactor, quoteShell } from '@warmbox/resolution'
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
  /** Standard output of the script. */
  run(script: ScriptRun): Promise<string>
}

/** Enough to see what went wrong, little enough for a log line. */
const tailLength = 2000

/**
 * Runs scripts in a sandbox under `set -euo pipefail`. The script is the one argument of `bash -lc`; a provider that
 * joins command and arguments quotes it. Secrets travel in `env` and are masked in errors.
 *
 * @throws RepoTemplateError `SANDBOX_UNSUPPORTED` for a sandbox that cannot run commands.
 */
export const scriptRunner = (
  sandbox: SyncableSandbox,
  options: {
    readonly secrets: readonly string[]
    readonly timeoutMs: number
    readonly signal: AbortSignal | undefined
  },
): ScriptRunner => {
  if (sandbox.executeCommand === undefined) {
    throw new RepoTemplateError({ code: 'SANDBOX_UNSUPPORTED', message: 'The sandbox has no executeCommand' })
  }
  const redactor = createRedactor(options.secrets)
  return {
    async run({ code, name, lines, env }) {
      options.signal?.throwIfAborted()
      const script = ['set -euo pipefail', ...lines].join('\n')
      const result = await sandbox.executeCommand?.('bash', ['-lc', script], {
        timeout: options.timeoutMs,
        ...(env === undefined ? {} : { env: { ...env } }),
        ...(options.signal === undefined ? {} : { abortSignal: options.signal }),
      })
      options.signal?.throwIfAborted()
      if (result?.exitCode === 0) return result.stdout
      const output = redactor.text(`${result?.stdout ?? ''}\n${result?.stderr ?? ''}`.trim()).slice(-tailLength)
      throw new RepoTemplateError({
        code,
        message: `${name} failed with exit code ${result?.exitCode ?? 'unknown'}${output === '' ? '' : `: ${output}`}`,
      })
    },
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
