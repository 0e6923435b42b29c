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

/**
 * Kills what a run's process has started and is still there: whatever carries the run id, and whatever that has started.
 * To be called before the process itself is killed, with which the trace to children of another environment is lost; it
 * is stopped meanwhile. Where it has ended by itself, what it left behind goes on. Root does it, who alone is shown the
 * environment of what runs under `sudo`. Rejects with the SDK's own errors.
 */
export async function killDescendants(sandbox: Sandbox, runId: string, pid: number): Promise<void> {
  await runScript(sandbox, sweepScript(runId, pid), { user: 'root', limitMs: SWEEP_LIMIT_MS })
}

/**
 * Stops what it finds and looks again, until there is nothing new: a process that is stopped starts no other, and stays
 * the parent by which its children are known.
 */
const sweepScript = (runId: string, pid: number): string => {
  const marker = quoteShell(`${RUN_ID_VARIABLE}=${runId}`)
  return [
    `main=${pid}`,
    '[ -d "/proc/$main" ] || exit 0',
    'found=" "',
    'while :; do',
    `family="$main $(grep -lzxF -- ${marker} /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3)"`,
    'children=$family',
    'while [ -n "$children" ]; do',
    'parents=$(echo $children | tr " " "|")',
    'children=$(grep -lE "^PPid:[[:space:]]($parents)$" /proc/[0-9]*/status 2>/dev/null | cut -d/ -f3)',
    'family="$family $children"',
    'done',
    'new=',
    'for pid in $family; do case $found in *" $pid "*) ;; *) new="$new $pid"; found="$found$pid " ;; esac; done',
    '[ -n "$new" ] || break',
    'kill -STOP $new 2>/dev/null',
    'done',
    'for pid in $found; do [ "$pid" = "$main" ] || kill -KILL "$pid" 2>/dev/null; done',
    'exit 0',
  ].join('\n')
}
