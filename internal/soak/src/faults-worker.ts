import { setTimeout as pause } from 'node:timers/promises'
import { E2BSandbox } from '@warmbox/sandbox'
import type { Task } from './messages.ts'
import type { Parent } from './parent.ts'
import { seededRandom } from './random.ts'
import { codeOf, specOf } from './session.ts'

/** As a host gives up on a request that hangs. */
const REQUEST_TIMEOUT_MS = 1_000
/** As often as a host tries before it tells its user. */
const MOST_TRIES = 25
const RETRY_MS = 20
/** The head moves on after so many starts. */
const STARTS_PER_HEAD = 40
/** Starts after which the process has all it needs, and memory should stay as it is. */
const WARM_UP = 0.5

/** Starts sessions one after another in several lanes, repeats what failed as hosts do, and looks for what went wrong. */
export async function runFaults(task: Extract<Task, { kind: 'faults' }>, parent: Parent) {
  const { concurrency, connection, seed, starts } = task
  const random = seededRandom(seed)
  const retried: Record<string, number> = {}
  const wedgedBy: string[] = []
  let begun = 0
  let started = 0
  let fallbacks = 0
  let duplicates = 0
  let warmRss = 0

  const attempt = async (action: () => Promise<unknown>): Promise<boolean> => {
    for (let tries = 1; ; tries += 1) {
      try {
        // oxlint-disable-next-line no-await-in-loop -- each try follows from the failure of the one before
        await action()
        return true
      } catch (error) {
        const code = codeOf(error)
        retried[code] = (retried[code] ?? 0) + 1
        if (tries === MOST_TRIES) {
          wedgedBy.push(code)
          return false
        }
        // oxlint-disable-next-line no-await-in-loop
        await pause(RETRY_MS * random())
      }
    }
  }

  const runSession = async (number: number): Promise<void> => {
    const id = `soak-${seed}-${number}`
    const sha = Math.floor(number / STARTS_PER_HEAD)
    const template = specOf(`soak-${seed}:sha-${sha}`, {
      staleRef: `soak-${seed}:current`,
      buildTags: ['current'],
      isCurrent: async () => sha === Math.floor(begun / STARTS_PER_HEAD),
    })
    const options = { ...connection, id, template, requestTimeoutMs: REQUEST_TIMEOUT_MS }
    let sandbox = new E2BSandbox(options)
    const isStarted = await attempt(async () => {
      sandbox = new E2BSandbox(options)
      await sandbox._start()
    })
    if (!isStarted) return
    started += 1
    const rung = sandbox.lastBoot?.rung
    if (rung === 'fallback' || rung === 'default' || rung === 'rebuilt') fallbacks += 1
    if (Number(await parent.ask({ ask: 'sandboxes', id })) > 1) duplicates += 1
    await attempt(async () => {
      await sandbox._destroy()
    })
  }

  const lane = async (): Promise<void> => {
    while (begun < starts) {
      const number = begun
      begun += 1
      if (number === Math.floor(starts * WARM_UP)) warmRss = residentMB()
      // oxlint-disable-next-line no-await-in-loop -- a lane is one session after another
      await runSession(number)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, lane))
  const rssGrowthMB = Math.max(0, residentMB() - warmRss)
  return { started, fallbacks, wedged: wedgedBy.length, wedgedBy, duplicates, rssGrowthMB, retried }
}

/** What the process holds once everything nobody needs is gone. */
function residentMB(): number {
  globalThis.gc?.()
  return Math.round(process.memoryUsage.rss() / 2 ** 20)
}
