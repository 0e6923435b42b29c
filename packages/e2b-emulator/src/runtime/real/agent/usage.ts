import type { MachineUsage } from '../../port.ts'

export interface Usage {
  measure(): MachineUsage
}

/** Reads what the processes of the machine take from its own `/proc`. The program that reads does not count. */
export function createUsage(): Usage {
  const fs = process.getBuiltinModule('node:fs')
  // The unit of times in /proc/<pid>/stat, the same on every Linux.
  const msPerTick = 10

  /** The text of a file of a process; undefined where it ended meanwhile. */
  const read = (pid: string, file: string): string | undefined => {
    try {
      return fs.readFileSync(`/proc/${pid}/${file}`, 'utf8')
    } catch {
      return undefined
    }
  }

  return {
    measure() {
      let ticks = 0
      let memoryBytes = 0
      for (const pid of fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
        const stat = read(pid, 'stat')
        if (stat === undefined) continue
        // The name in parentheses may hold anything; counted from behind it: own user and system time, then waited children's.
        const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
        const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields.slice(11, 15).map(Number)
        const reader = Number(pid) === process.pid
        ticks += childUser + childSystem + (reader ? 0 : user + system)
        const resident = /^VmRSS:\s+(\d+) kB$/m.exec(read(pid, 'status') ?? '')?.[1]
        if (!reader && resident !== undefined) memoryBytes += Number(resident) * 1024
      }
      const root = fs.statfsSync('/')
      return {
        cpuTimeMs: ticks * msPerTick,
        memoryBytes,
        disk: { usedBytes: (root.blocks - root.bfree) * root.bsize, totalBytes: root.blocks * root.bsize },
      }
    },
  }
}
