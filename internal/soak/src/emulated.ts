import { setTimeout as pause } from 'node:timers/promises'
import { createEmulator, createScriptedRuntime, type Emulator } from '@warmbox/e2b-emulator'
import type { Connection, Task, WorkerResult } from './messages.ts'
import { BUILD_STEP } from './session.ts'
import { type Knowledge, runWorkers } from './worker-pool.ts'

/** An emulator for one run, whose builds take so long. */
export async function withEmulator<T>(
  buildMs: number,
  work: (emulator: Emulator, connection: Connection) => Promise<T>,
): Promise<T> {
  const emulator = createEmulator({
    runtime: createScriptedRuntime({
      commands: [
        {
          match: new RegExp(`^${BUILD_STEP}`),
          answer: async ({ signal }) => {
            await pause(buildMs, undefined, { signal })
            return {}
          },
        },
      ],
    }),
    limits: { concurrentBuilds: 200, concurrentSandboxes: 1_000 },
  })
  try {
    const { connection } = await emulator.listen()
    return await work(emulator, connection)
  } finally {
    await emulator.close()
  }
}

/** The workers' results together. */
export async function runTasks(tasks: readonly Task[], knowledge: Knowledge): Promise<WorkerResult> {
  const results = await runWorkers(tasks, knowledge)
  const sum = (of: (result: WorkerResult) => number): number => results.reduce((total, each) => total + of(each), 0)
  const retried: Record<string, number> = {}
  for (const [code, count] of results.flatMap((each) => Object.entries(each.retried))) {
    retried[code] = (retried[code] ?? 0) + count
  }
  return {
    started: sum((each) => each.started),
    fallbacks: sum((each) => each.fallbacks),
    wedged: sum((each) => each.wedged),
    wedgedBy: results.flatMap((each) => each.wedgedBy),
    duplicates: sum((each) => each.duplicates),
    unhandled: sum((each) => each.unhandled),
    rssGrowthMB: Math.max(...results.map((each) => each.rssGrowthMB)),
    retried,
  }
}

/** How many sandboxes carry a logical id. */
export const countSandboxes = (emulator: Emulator, id: string): number =>
  emulator.control.sandboxes().filter(({ metadata }) => metadata?.['mastra-sandbox-id'] === id).length
