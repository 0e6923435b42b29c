import { setTimeout as pause } from 'node:timers/promises'
import type { BuildLease, DeferredNamedTemplateSpec } from '@warmbox/resolution'
import type { Task } from './messages.ts'
import type { Parent } from './parent.ts'
import { plainResult, specOf, startSession } from './session.ts'

/** The head after which no other comes. */
export const LAST_HEAD = 'last'
const LOOK_MS = 20

/** Starts a session for every head it gets to see, until the last one is built. */
export async function runHeads(task: Extract<Task, { kind: 'heads' }>, lease: BuildLease, parent: Parent) {
  const { connection, name } = task
  const head = async (): Promise<string> => String(await parent.ask({ ask: 'head' }))
  const template: DeferredNamedTemplateSpec = {
    resolveSpec: async () => {
      const sha = await head()
      return specOf(`${name}:sha-${sha}`, {
        staleRef: `${name}:current`,
        buildTags: ['current'],
        isCurrent: async () => (await head()) === sha,
      })
    },
  }
  const started: { isFallback: boolean }[] = []
  let seen = ''
  for (;;) {
    // oxlint-disable no-await-in-loop -- one session after another, as the head moves
    const now = await head()
    if (now !== seen) {
      seen = now
      const { sandbox, isFallback } = await startSession({ ...connection, template, lease })
      started.push({ isFallback })
      await sandbox._destroy()
    }
    if (now.endsWith(LAST_HEAD)) return plainResult(started)
    await pause(LOOK_MS)
    // oxlint-enable no-await-in-loop
  }
}
