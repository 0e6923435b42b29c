import type { Clock } from '../clock.ts'
import { isoTime } from '../platform/platform.ts'
import type { BuildRecord } from '../platform/state.ts'

type Level = 'debug' | 'info' | 'warn' | 'error'

/** Appends to what the status and logs calls return. Text is shown as it is: the platform echoes ENV values and commands too. */
export interface BuildLog {
  write(level: Level, message: string): void
  /** A line of output of a command, without the blanks around it; nothing for one that is blank. */
  line(stream: 'stdout' | 'stderr', line: string): void
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
    line(stream, line) {
      const text = line.trim()
      if (text !== '') this.write('info', `[${stream}]: ${text}`)
    },
    phase: (inner, innerStep) => at(inner, innerStep),
  })
  return at(undefined, undefined)
}

/** For work whose output belongs to nobody, such as a start command in a sandbox: the log of its build is complete. */
export const silentLog: BuildLog = { write: () => undefined, line: () => undefined, phase: () => silentLog }
