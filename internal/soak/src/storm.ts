import { countSandboxes, runTasks, withEmulator } from './emulated.ts'
import type { LeaseChoice } from './messages.ts'

const PROCESSES = 4
const STARTS = 25
/** Long enough that every session of every process begins while the build runs. */
const BUILD_MS = 3_000

export interface StormFigures {
  /** Builds of the ref that were requested. */
  readonly builds: number
  /** Of these, those that ended ready. */
  readonly ready: number
  readonly sandboxes: number
  readonly fallbacks: number
  readonly unhandled: number
}

/** Four processes start 25 sessions each, all on one ref that nobody ever built. */
export const runStorm = (lease: LeaseChoice): Promise<StormFigures> =>
  withEmulator(BUILD_MS, async (emulator, connection) => {
    const tasks = Array.from({ length: PROCESSES }, (_, process) => ({
      kind: 'storm' as const,
      connection,
      lease,
      ref: 'storm:sha-1',
      starts: STARTS,
      prefix: `storm-${process}`,
    }))
    const { fallbacks, unhandled } = await runTasks(tasks, {
      head: () => '',
      sandboxes: (id) => countSandboxes(emulator, id),
    })
    const { control } = emulator
    const builds = control.builds().filter(({ tags }) => tags.includes('sha-1'))
    return {
      builds: builds.length,
      ready: builds.filter(({ status }) => status === 'ready').length,
      sandboxes: control.sandboxes().length,
      fallbacks,
      unhandled,
    }
  })
