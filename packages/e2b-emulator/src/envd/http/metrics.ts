import type { EnvdSession } from '../session.ts'

/**
 * `GET /metrics`. What is there is what the sandbox was given; what is used is what the machine measures of its
 * processes. A machine that measures nothing reads as idle.
 */
export async function metrics(session: EnvdSession) {
  const { sandbox, clock } = session
  const { cpuCount, memoryMB } = sandbox.resources ?? { cpuCount: 2, memoryMB: 1024 }
  const usage = await sandbox.machine.usage()
  const memoryUsed = Math.min(usage?.memoryBytes ?? 0, memoryMB * MEBIBYTE)
  return {
    ts: Math.floor(clock.now() / 1000),
    cpu_count: cpuCount,
    cpu_used_pct: session.processorLoad.since(usage?.cpuTimeMs ?? 0, cpuCount),
    mem_total: memoryMB * MEBIBYTE,
    mem_total_mib: memoryMB,
    mem_used: memoryUsed,
    mem_used_mib: Math.floor(memoryUsed / MEBIBYTE),
    // The host's page cache belongs to no machine.
    mem_cache: 0,
    ...(session.can('diskMetrics')
      ? {
          disk_total: usage?.disk.totalBytes ?? DISK_MEBIBYTES * MEBIBYTE,
          disk_used: usage?.disk.usedBytes ?? 0,
        }
      : {}),
  }
}

const MEBIBYTE = 1024 * 1024
const DISK_MEBIBYTES = 10_240
