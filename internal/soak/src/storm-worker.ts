import type { BuildLease } from '@warmbox/resolution'
import type { Task } from './messages.ts'
import { plainResult, specOf, startSession } from './session.ts'

/** Starts all sessions of this process at once, all on the same cold ref. */
export async function runStorm(task: Extract<Task, { kind: 'storm' }>, lease: BuildLease) {
  const { connection, prefix, ref, starts } = task
  const template = specOf(ref)
  const sessions = Array.from({ length: starts }, (_, index) =>
    startSession({ ...connection, id: `${prefix}-${index}`, template, lease }),
  )
  return plainResult(await Promise.all(sessions))
}
