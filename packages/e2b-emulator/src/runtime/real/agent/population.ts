import type { AgentSettings } from './contract.ts'
import type { findMarked } from './marked.ts'

/** Which processes are the machine's. */
export interface Population {
  /** All of them, this program and init included. */
  all(): number[]
  /** Those that commands are, and what they started. */
  commands(): number[]
  /** Stops every command, so that none can fork its way out. */
  stop(): void
  resume(pids: readonly number[]): void
}

export function createPopulation(settings: AgentSettings, find: typeof findMarked): Population {
  const fs = process.getBuiltinModule('node:fs')
  const { mark } = settings

  const visible = () =>
    fs
      .readdirSync('/proc')
      .map(Number)
      .filter((pid) => pid > 0)
  const all = () => (mark === null ? visible() : find(mark))
  const commands = () => all().filter((pid) => pid > 1 && pid !== process.pid)
  // ESRCH: there is none, or it ended just now. EPERM: it became another user's, which only an unconfined one can.
  const harmless = mark === null ? ['ESRCH'] : ['ESRCH', 'EPERM']
  const signal = (pid: number, name: 'SIGSTOP' | 'SIGCONT') => {
    try {
      process.kill(pid, name)
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : ''
      if (!harmless.includes(code)) throw error
    }
  }

  return {
    all,
    commands,
    stop() {
      // In one step for everything but this program and init.
      if (mark === null) return signal(-1, 'SIGSTOP')
      const stopped = new Set<number>()
      // What was started before its parent stopped is found by the next look.
      for (;;) {
        const running = commands().filter((pid) => !stopped.has(pid))
        if (running.length === 0) return
        for (const pid of running) {
          signal(pid, 'SIGSTOP')
          stopped.add(pid)
        }
      }
    },
    resume(pids) {
      for (const pid of pids) signal(pid, 'SIGCONT')
    },
  }
}
