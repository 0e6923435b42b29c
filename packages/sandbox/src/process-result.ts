import type { CommandResult } from '@mastra/core/workspace'
import { KILLED_EXIT_CODE } from './memory-kill.ts'
import type { ProcessEnd } from './sdk.ts'

/**
 * What ended a process. `exit`: itself. `timeout`: the `timeout` option. `kill`: `kill()`. `abort`: the abort signal given
 * when it was started. `oom`: the kernel, because memory ran out. `signal`: any other signal nobody sent from here.
 */
export type ProcessEnding = 'exit' | 'timeout' | 'kill' | 'abort' | 'oom' | 'signal'

/** Result of a process, with what ended it. */
export interface E2BCommandResult extends CommandResult {
  readonly endedBy: ProcessEnding
}

/** The endings that are brought about from here. */
export type Intent = Extract<ProcessEnding, 'timeout' | 'kill' | 'abort'>

/** What the command `timeout` answers. */
const TIMEOUT_EXIT_CODE = 124

/** As programs that limit or kill others report it. */
export function exitCodeOf(endedBy: ProcessEnding, end: ProcessEnd): number {
  switch (endedBy) {
    case 'timeout':
      return TIMEOUT_EXIT_CODE
    case 'kill':
    case 'abort':
    case 'oom':
      return KILLED_EXIT_CODE
    case 'exit':
    case 'signal':
      return end.exitCode
    default:
      return endedBy satisfies never
  }
}
