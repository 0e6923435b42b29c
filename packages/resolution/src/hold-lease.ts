import { digestText } from '@warmbox/identity'
import type { Clock } from './clock.ts'
import { withinDeadline } from './deadline.ts'
import type { ResolutionListener } from './events.ts'
import type { BuildLease, LeaseGrant } from './lease.ts'
import { untilAborted } from './flight.ts'
import { isObject } from './option-checks.ts'

export interface LeaseContext {
  readonly lease: BuildLease
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly emit: ResolutionListener
}

export interface LeaseHold {
  /** False once the claim was lost, or may run out before one more request has reached E2B. */
  readonly isHeld: () => boolean
  /** Frees the lease. Never rejects: a lease that is not freed runs out. */
  readonly release: () => Promise<void>
}

/** A process that dies while it holds a lease keeps the others waiting no longer than this. */
export const LEASE_TTL_MS = 30_000
const RENEW_AFTER_MS = LEASE_TTL_MS / 3
const RENEW_AGAIN_AFTER_MS = 1_000
/** E2B cannot check a claim itself, so nothing is sent there that might arrive after the claim ran out. */
const SAFETY_MS = LEASE_TTL_MS / 3
/** A lease server that takes longer counts as out of reach: sessions wait for it. */
const CALL_TIMEOUT_MS = 2_000

/** The name under which processes meet: the same for one account alone, and telling nothing about it. */
export const leaseKey = (scope: string, kind: 'build' | 'tags', subject: string): string =>
  digestText(`warmbox.lease\n${scope}\n${kind}\n${subject}`).slice(0, 40)

/**
 * Claims the lease and renews it until it is released.
 * @returns `taken` where somebody else holds it. A lease that cannot be asked is done without, with a warning event.
 */
export async function claimLease(key: string, ref: string, context: LeaseContext): Promise<LeaseHold | 'taken'> {
  const { clock, emit, lease, signal } = context
  const askedAt = clock.now()
  try {
    const grant = await acquire(lease, key, context)
    return grant === undefined ? 'taken' : new Hold(grant, askedAt + LEASE_TTL_MS, context)
  } catch (error) {
    signal.throwIfAborted()
    const message = `The lease cannot be asked, so it is done without: ${nameOf(error)}`
    emit({ type: 'warning', code: 'LEASE_UNAVAILABLE', message, ref })
    return WITHOUT_LEASE
  }
}

const WITHOUT_LEASE: LeaseHold = { isHeld: () => true, release: () => Promise.resolve() }

/** Of a foreign error only its name is told: its message may quote an address together with its password. */
function nameOf(error: unknown): string {
  if (error instanceof LeaseTimeoutError || error instanceof LeaseAnswerError) return error.message
  return error instanceof Error ? error.name : typeof error
}

class LeaseTimeoutError extends Error {
  constructor() {
    super(`It did not answer within ${CALL_TIMEOUT_MS} ms`)
    this.name = 'LeaseTimeoutError'
  }
}

class LeaseAnswerError extends Error {
  constructor() {
    super('acquire answered neither a grant nor undefined')
    this.name = 'LeaseAnswerError'
  }
}

const asked = <T>({ clock }: LeaseContext, signal: AbortSignal, call: (signal: AbortSignal) => Promise<T>) =>
  withinDeadline({ clock, delayMs: CALL_TIMEOUT_MS, signal, overdue: () => new LeaseTimeoutError() }, (callSignal) =>
    untilAborted(call(callSignal), callSignal),
  )

/** A claim that succeeds after nobody waited for it any more is given back, or it would keep everybody waiting. */
function acquire(lease: BuildLease, key: string, context: LeaseContext): Promise<LeaseGrant | undefined> {
  return asked(context, context.signal, async (signal) => {
    const grant = grantOf(await lease.acquire(key, LEASE_TTL_MS, signal))
    if (grant !== undefined && signal.aborted) await giveBack(lease, grant, context)
    return grant
  })
}

/** A lease that says `null` or `false` would otherwise count as held, by everybody at once. */
function grantOf(answer: unknown): LeaseGrant | undefined {
  if (answer === undefined || isGrant(answer)) return answer
  throw new LeaseAnswerError()
}

const isGrant = (answer: unknown): answer is LeaseGrant =>
  isObject(answer) &&
  'key' in answer &&
  typeof answer.key === 'string' &&
  'holder' in answer &&
  typeof answer.holder === 'string'

async function giveBack(lease: BuildLease, grant: LeaseGrant, context: LeaseContext): Promise<void> {
  try {
    // Not bound to the session's signal: a session that ends is just when the lease must be freed.
    await asked(context, new AbortController().signal, (signal) => lease.release(grant, signal))
  } catch {
    // It runs out by itself, and there is nothing else to do about a lease server that went away.
  }
}

class Hold implements LeaseHold {
  readonly #context: LeaseContext
  readonly #grant: LeaseGrant
  readonly #released = new AbortController()
  readonly #renewing: Promise<void>
  #until: number

  constructor(grant: LeaseGrant, until: number, context: LeaseContext) {
    this.#grant = grant
    this.#until = until
    this.#context = context
    this.#renewing = this.#renew()
  }

  isHeld(): boolean {
    return this.#context.clock.now() + SAFETY_MS < this.#until
  }

  async release(): Promise<void> {
    this.#released.abort()
    await this.#renewing
    await giveBack(this.#context.lease, this.#grant, this.#context)
  }

  async #renew(): Promise<void> {
    const { clock } = this.#context
    const { signal } = this.#released
    let delay = RENEW_AFTER_MS
    while (clock.now() < this.#until) {
      try {
        await clock.sleep(delay, signal)
        delay = await this.#renewOnce(signal)
      } catch {
        // A renewal that failed is tried again while the claim may still hold; `isHeld` turns false in time.
        delay = RENEW_AGAIN_AFTER_MS
      }
      if (signal.aborted) return
    }
  }

  /** @returns how long to wait before the next renewal. */
  async #renewOnce(signal: AbortSignal): Promise<number> {
    const { clock, lease } = this.#context
    const askedAt = clock.now()
    const isHeld = await asked(this.#context, signal, (callSignal) =>
      lease.renew(this.#grant, LEASE_TTL_MS, callSignal),
    )
    // What was lost cannot be renewed: somebody else may have it.
    this.#until = isHeld ? askedAt + LEASE_TTL_MS : Number.NEGATIVE_INFINITY
    return RENEW_AFTER_MS
  }
}
