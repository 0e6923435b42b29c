import type { Clock } from '../clock.ts'
import { isoTime } from '../platform/platform.ts'
import type { BuildRecord } from '../platform/state.ts'

type Level = 'debug' | 'info' | 'warn' | 'error'

/** Appends to what the status and logs calls return. Text is shown as it is: the platform echoes ENV values and commands too. */
export interface BuildLog {
  write(level: Level, message: string): void
  /** Output of a command: one entry per line that is not blank. */
  output(stream: 'stdout' | 'stderr', text: string): void
  /** The log of one phase: `base`, `builder 1/3`, `finalize`. */
  phase(prefix: string, step: string): BuildLog
}

export function createBuildLog(build: BuildRecord, clock: Clock): BuildLog {
  const at = (prefix: string | undefined, step: string | undefined): BuildLog => ({
    write(level, message) {
      build.logs.push({
        timestamp: isoTime(clock.now()),
        level,
        message: prefix === undefined ? message : `[${prefix}] ${message}`,
        ...(step === undefined ? {} : { step }),
      })
    },
    output(stream, text) {
      for (const line of text.split('\n').map((raw) => raw.trim())) {
        if (line !== '') this.write('info', `[${stream}]: ${line}`)
      }
    },
    phase: (inner, innerStep) => at(inner, innerStep),
  })
  return at(undefined, undefined)
}

/** For work whose output belongs to nobody, such as a start command in a sandbox: the log of its build is complete. */
export const silentLog: BuildLog = { write: () => undefined, output: () => undefined, phase: () => silentLog }
