import { problemOfResult } from './table-checks.ts'
import type { ScriptedCall, ScriptedCommand, ScriptedResult } from './table.ts'

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
