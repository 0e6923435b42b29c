import type { MachineUsage } from '../../port.ts'
import type { AgentSettings } from './contract.ts'
import type { Population } from './population.ts'

export interface Usage {
  measure(): MachineUsage
}

/** Reads what the processes of the machine take from `/proc`. The program that reads does not count. */
export function createUsage(settings: AgentSettings, population: Population): Usage {
  const fs = process.getBuiltinModule('node:fs')
  // The unit of times in /proc/<pid>/stat, the same on every Linux.
  const msPerTick = 10
  /** Where nobody of the machine waits for its orphans, their time goes with them; it stays counted here. */
  let highest = 0

  /** The text of a file of a process; undefined where it ended meanwhile. */
  const read = (pid: number, file: string): string | undefined => {
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
      for (const pid of population.all()) {
        const stat = read(pid, 'stat')
        if (stat === undefined) continue
        // The name in parentheses may hold anything; counted from behind it: own user and system time, then waited children's.
        const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
        const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields.slice(11, 15).map(Number)
        const reader = pid === process.pid
        ticks += childUser + childSystem + (reader ? 0 : user + system)
        const resident = /^VmRSS:\s+(\d+) kB$/m.exec(read(pid, 'status') ?? '')?.[1]
        if (!reader && resident !== undefined) memoryBytes += Number(resident) * 1024
      }
      highest = Math.max(highest, ticks * msPerTick)
      const root = fs.statfsSync(`${settings.root}/`)
      return {
        cpuTimeMs: highest,
        memoryBytes,
        disk: { usedBytes: (root.blocks - root.bfree) * root.bsize, totalBytes: root.blocks * root.bsize },
      }
    },
  }
}
