import { randomBytes } from 'node:crypto'
import { quoteShell } from '@warmbox/resolution'
import type { Sandbox } from 'e2b'
import { runScript } from './sdk.ts'

/**
 * Environment variable that marks a process and everything it starts, whatever session or parent that ends up with.
 * E2B's signals reach one process only, so this is how its children are found when it is killed.
 */
export const RUN_ID_VARIABLE = 'WARMBOX_RUN_ID'

/** Looking through /proc takes no time; longer means that something is broken. */
const SWEEP_LIMIT_MS = 5_000

export const createRunId = (): string => randomBytes(12).toString('hex')

/** Kills whatever carries a run id and lives still. Rejects with the SDK's own errors. */
export async function killDescendants(sandbox: Sandbox, runId: string): Promise<void> {
  await runScript(sandbox, sweepScript(runId), { user: undefined, limitMs: SWEEP_LIMIT_MS })
}

/** Looks again after each round: a process may have started another between being seen and being killed. */
const sweepScript = (runId: string): string => {
  const marker = quoteShell(`${RUN_ID_VARIABLE}=${runId}`)
  return [
    'for round in 1 2 3 4 5; do',
    `pids=$(grep -lzxF -- ${marker} /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3)`,
    '[ -n "$pids" ] || exit 0',
    'kill -KILL $pids 2>/dev/null',
    'done',
  ].join('\n')
}
