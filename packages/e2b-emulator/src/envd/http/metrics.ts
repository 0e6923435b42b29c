import type { EnvdSession } from '../session.ts'

/** `GET /metrics`. Sizes are those the sandbox was given; the emulation measures no use, so all of it reads as free. */
export function metrics({ sandbox, clock }: EnvdSession) {
  const { cpuCount, memoryMB } = sandbox.resources ?? { cpuCount: 2, memoryMB: 1024 }
  return {
    ts: Math.floor(clock.now() / 1000),
    cpu_count: cpuCount,
    cpu_used_pct: 0,
    mem_total: memoryMB * MEBIBYTE,
    mem_total_mib: memoryMB,
    mem_used: 0,
    mem_used_mib: 0,
    mem_cache: 0,
    disk_total: DISK_MEBIBYTES * MEBIBYTE,
    disk_used: 0,
  }
}

const MEBIBYTE = 1024 * 1024
const DISK_MEBIBYTES = 10_240
