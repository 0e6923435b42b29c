import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { setTimeout as delay } from 'node:timers/promises'

/** Collects what nothing refers to any more. */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect !== 'function') throw new Error('this engine has no collector to call')
  // A weak reference that was just read holds its target until the current task is over.
  for (let round = 0; round < 3; round++) {
    await delay(0)
    collect()
  }
}
