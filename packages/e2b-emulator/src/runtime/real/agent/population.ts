import type { AgentSettings } from './contract.ts'
import type { findMarked } from './marked.ts'

/** Which processes are the machine's. */
export interface Population {
  /** All of them, this program and init included. */
  all(): number[]
  /** Those that commands are, and what they started. */
  commands(): number[]
  /**
   * Stops every command, so that none can fork its way out, and returns when they stand still: the kernel stops a thread at
   * its next turn, which on a busy host is a while after the signal. The ids of those that were stopped before.
   */
  stop(): ReadonlySet<number>
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
  /** False where it reached nobody. */
  const signal = (pid: number, name: 'SIGSTOP' | 'SIGCONT'): boolean => {
    try {
      return process.kill(pid, name)
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : ''
      if (!harmless.includes(code)) throw error
      return false
    }
  }

  /** The states of its threads, as `/proc` has them; undefined where they could not all be read. */
  const statesOf = (pid: number): string[] | undefined => {
    try {
      return fs.readdirSync(`/proc/${pid}/task`).map((thread) => {
        const stat = fs.readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')
        // The name in parentheses may hold anything; the state is the first field after the last one.
        return stat.charAt(stat.lastIndexOf(')') + 2)
      })
    } catch {
      // All of it ended, or one of them between listing and reading.
      return fs.existsSync(`/proc/${pid}`) ? undefined : []
    }
  }
  const isStopped = (pid: number) => statesOf(pid)?.includes('T') ?? false
  const sleeper = new Int32Array(new SharedArrayBuffer(4))

  return {
    all,
    commands,
    stop() {
      const stoppedBefore = new Set(commands().filter(isStopped))
      // What waits in the kernel may wait for something that is stopped now, as a parent does for the child of a vfork.
      const patience = Date.now() + 1000
      const standsStill = (pid: number) => {
        const isOver = Date.now() > patience
        return statesOf(pid)?.every((state) => 'TtZX'.includes(state) || (isOver && state === 'D')) ?? isOver
      }
      // In one step for everything but this program and init.
      if (mark === null) signal(-1, 'SIGSTOP')
      const unreachable = new Set<number>()
      for (;;) {
        // Until it stands still itself, a process may start others or continue them.
        const moving = commands().filter((pid) => !unreachable.has(pid) && !standsStill(pid))
        if (moving.length === 0) return stoppedBefore
        for (const pid of moving) {
          if (!signal(pid, 'SIGSTOP')) unreachable.add(pid)
        }
        // As a whole, so that nothing this program is asked for comes between the signal and the standstill.
        Atomics.wait(sleeper, 0, 0, 1)
      }
    },
    resume(pids) {
      for (const pid of pids) signal(pid, 'SIGCONT')
    },
  }
}
