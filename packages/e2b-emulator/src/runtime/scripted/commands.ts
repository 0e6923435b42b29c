import type { ScriptedFiles } from './machine-files.ts'
import { problemOfResult } from './table-checks.ts'

/** What a scripted command sees of the process it plays. */
export interface ScriptedCall {
  /** The text given to `bash -c`, or the command and its arguments joined by spaces. */
  readonly text: string
  readonly cwd: string
  readonly user: string
  readonly env: Readonly<Record<string, string>>
  readonly files: ScriptedFiles
  /** Chunks the caller writes; ends when the caller closes stdin. */
  readonly stdin: AsyncIterable<Uint8Array>
  /** Aborted by any signal sent to the process. */
  readonly signal: AbortSignal
  readonly stdout: (text: string) => void
  readonly stderr: (text: string) => void
}

export interface ScriptedResult {
  /** Default: nothing. */
  readonly stdout?: string
  /** Default: nothing. */
  readonly stderr?: string
  /** Default: 0. */
  readonly exitCode?: number
}

/** One row of the table: a command text, and what running it answers. The first row that matches is taken. */
export interface ScriptedCommand {
  /** The whole command text, or a pattern to be found in it. */
  readonly match: string | RegExp
  readonly answer: ScriptedResult | ((call: ScriptedCall) => ScriptedResult | Promise<ScriptedResult>)
}

/** The text a table row is matched against: `bash -l -c <text>` counts as `<text>`. */
export function commandText(command: string, args: readonly string[]): string {
  const isShell = command === '/bin/bash' || command === 'bash' || command === '/bin/sh' || command === 'sh'
  const last = args.at(-1)
  const viaShell = isShell && last !== undefined && args.slice(0, -1).includes('-c')
  return viaShell ? last : [command, ...args].join(' ')
}

export function findCommand(table: readonly ScriptedCommand[], text: string): ScriptedCommand | undefined {
  return table.find(({ match }) => (typeof match === 'string' ? match === text : text.search(match) !== -1))
}

/** What the row answers to this call. Rejects with an error that names the row where its function fails or errs. */
export async function answerOf({ match, answer }: ScriptedCommand, call: ScriptedCall): Promise<ScriptedResult> {
  if (typeof answer !== 'function') return answer
  const row = `the row that matches ${typeof match === 'string' ? JSON.stringify(match) : String(match)}`
  const given = async () => answer(call)
  const result = await given().catch((cause: unknown) => {
    throw new Error(`${row} failed: ${String(cause)}`, { cause })
  })
  const problem = problemOfResult(result)
  if (problem !== undefined) throw new Error(`${row} gave a wrong answer: a right one ${problem}`)
  return result
}
