import type { Clock } from '@warmbox/resolution'
import { E2BSandboxError } from './errors.ts'
import { processWideMap } from './process-wide.ts'

/** How many sandboxes one logical id may use up within {@link BREAKER_WINDOW_MS}. */
export const BREAKER_LIMIT = 5

/** Time in which creates are counted, and for which none is made once there were too many, in milliseconds. */
export const BREAKER_WINDOW_MS = 60_000

/** When sandboxes were created that nobody destroyed, oldest first, by account and logical id. */
const createsByKey = (): Map<string, readonly number[]> => processWideMap('creates')

/**
 * Ends the circle of a sandbox that dies at once, is replaced, and dies again: after {@link BREAKER_LIMIT} creates in
 * {@link BREAKER_WINDOW_MS} none is made until as much time has passed since the last. Sandboxes that were destroyed on
 * purpose do not count.
 */
export class CreateBreaker {
  readonly #key: () => string
  readonly #clock: Clock

  /** @param key account and logical id; asked when it is needed, since the account may not be known before a start */
  constructor(key: () => string, clock: Clock) {
    this.#key = key
    this.#clock = clock
  }

  /** @throws E2BSandboxError `CREATE_STORM` */
  assertClosed(): void {
    const creates = this.#recent()
    const latest = creates.at(-1)
    if (latest === undefined || creates.length < BREAKER_LIMIT) return
    const waitMs = latest + BREAKER_WINDOW_MS - this.#clock.now()
    throw new E2BSandboxError({
      code: 'CREATE_STORM',
      message: `${creates.length} sandboxes of one id were created in short time and not destroyed: no more for now`,
      hint:
        'They seem to die right after their start. Look at the start command and the memory of the template; ' +
        `the next one may be created in ${Math.ceil(waitMs / 1_000)} s`,
    })
  }

  created(): void {
    createsByKey().set(this.#key(), [...this.#recent(), this.#clock.now()])
  }

  /** The sandbox was destroyed on purpose. */
  destroyed(): void {
    createsByKey().delete(this.#key())
  }

  /** Forgets what has no say any more, of every id: nobody else would. */
  #recent(): readonly number[] {
    const now = this.#clock.now()
    const all = createsByKey()
    for (const [key, times] of all) {
      // A full count holds for the whole window after its last create, not only until its first is old.
      const isOver = (times.at(-1) ?? 0) + BREAKER_WINDOW_MS <= now
      const left = isOver
        ? []
        : times.length >= BREAKER_LIMIT
          ? times
          : times.filter((at) => at + BREAKER_WINDOW_MS > now)
      if (left.length === 0) all.delete(key)
      else all.set(key, left)
    }
    return all.get(this.#key()) ?? []
  }
}
