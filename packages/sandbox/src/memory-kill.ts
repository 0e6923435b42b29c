import type { Sandbox } from 'e2b'
import { runScript } from './sdk.ts'

export interface SuddenEnd {
  readonly pid: number
  /** As the daemon reports it: -1 where a signal ended the process, 137 where a shell says so of its child. */
  readonly exitCode: number
  /** How long the process has lived at most, in milliseconds. */
  readonly livedMs: number
}

/** What a shell exits with when SIGKILL has ended its child: 128 + 9. */
export const KILLED_EXIT_CODE = 137

/** Reading the kernel's log takes no time; longer means that something is broken. */
const READ_LIMIT_MS = 5_000

/** By how much the clock of the kernel's log may differ from its uptime: they drift apart in days. */
const CLOCK_MARGIN_US = 10_000_000

/** Whether an end could be the work of the kernel when memory ran out, which kills by SIGKILL. */
export const couldBeMemoryKill = ({ exitCode }: Pick<SuddenEnd, 'exitCode'>): boolean =>
  exitCode < 0 || exitCode === KILLED_EXIT_CODE

/**
 * Whether the kernel says that it killed a process, or the child that a shell reports as killed, because memory ran out.
 * Its log is asked rather than a counter, since it names the victim and needs no reading from before. What lies in
 * the log cannot be made up: the kernel files whatever others write to it under another facility than its own.
 * @returns false too where the log cannot be read
 */
export async function wasKilledForMemory(sandbox: Sandbox, end: SuddenEnd): Promise<boolean> {
  try {
    const { stdout } = await runScript(sandbox, READ_LOG, { user: 'root', limitMs: READ_LIMIT_MS })
    return killsIn(stdout, end.livedMs).some((pid) => pid === end.pid || end.exitCode === KILLED_EXIT_CODE)
  } catch {
    // It is looked for a reason only; the end itself is known and is told without one.
    return false
  }
}

/** Every record of `/dev/kmsg` is one read of its own, and without `nonblock` the last one would wait for the next. */
const READ_LOG = [
  'cut -d" " -f1 /proc/uptime',
  'dd if=/dev/kmsg iflag=nonblock bs=8192 status=none 2>/dev/null | grep -a "Killed process" | tail -n 100',
].join('\n')

/** `level,sequence,microseconds,flags;text`; levels of the kernel's own facility are below 8. */
const KILL_RECORD = /^[0-7],\d+,(\d+),[^;]*;(?:Out of memory|Memory cgroup out of memory)[^:]*: Killed process (\d+) \(/

/** Ids of the processes killed for memory in the last `withinMs`. */
function killsIn(log: string, withinMs: number): readonly number[] {
  const [uptime = '', ...records] = log.split('\n')
  const earliest = Number(uptime) * 1e6 - withinMs * 1e3 - CLOCK_MARGIN_US
  return records.flatMap((record) => {
    const [, time, pid] = KILL_RECORD.exec(record) ?? []
    return time !== undefined && Number(time) >= earliest ? [Number(pid)] : []
  })
}
