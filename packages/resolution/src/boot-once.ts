import { isWarmboxError } from '@warmbox/identity'
import { createAttemptId } from './attempt-id.ts'
import { type BootDiagnosis, diagnoseBootError } from './classify.ts'
import type { Clock } from './clock.ts'
import type { ResolutionListener, Rung } from './events.ts'
import { untilAborted } from './flight.ts'
import type { Unbootable } from './ladder.ts'
import { discardLate } from './late-boot.ts'
import { lookUpAttempt } from './look-up-attempt.ts'
import type { BootAttempt, BootPorts } from './options.ts'
import { exonerate, suspect } from './suspects.ts'
import { unreachable } from './unreachable.ts'

export type BootAnswer<T> =
  | { readonly kind: 'booted'; readonly value: T; readonly adopted: boolean }
  /** Nothing came of it for certain, so another ref may be tried. */
  | { readonly kind: 'unbootable'; readonly because: Unbootable; readonly error: unknown }

export interface BootContext {
  /** Of the account: suspects are kept apart by it. */
  readonly scope: string
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly emit: ResolutionListener
}

/**
 * Boots one ref once: one create, and after an ambiguous failure the search for what came of it. Create is never
 * repeated, since it is not idempotent. Aborted, it is waited for no longer where there is a `discard` for what it makes.
 * @throws what `boot` threw, where that says nothing about the ref or where something may have come of it
 */
export async function bootOnce<T>(
  ref: string,
  rung: Rung,
  ports: BootPorts<T>,
  context: BootContext,
): Promise<BootAnswer<T>> {
  const { clock, scope, signal } = context
  const attempt = Object.freeze({ attemptId: createAttemptId(clock.now()), rung })
  const key = `${scope}\n${ref}`
  let failure: unknown
  try {
    const value = await boot(ref, attempt, ports, context)
    exonerate(key)
    return { kind: 'booted', value, adopted: false }
  } catch (error) {
    if (signal.aborted) throw error
    failure = error
  }
  const diagnosis = diagnoseBootError(failure)
  switch (diagnosis.kind) {
    case 'propagate':
      throw failure
    case 'unusable':
      return { kind: 'unbootable', because: 'missing', error: failure }
    case 'ambiguous':
      break
    default:
      return unreachable(diagnosis)
  }
  const value = await adopt(ref, attempt.attemptId, diagnosis, failure, ports, context)
  if (value !== undefined) {
    exonerate(key)
    if (signal.aborted && ports.discard !== undefined) {
      const { attemptId } = attempt
      discardLate({ ref, attemptId, booting: Promise.resolve(value), ports }, context, signal.reason)
      throw signal.reason
    }
    return { kind: 'booted', value, adopted: true }
  }
  // A connection that was lost says nothing about the ref.
  if (diagnosis.how === 'cut' || !suspect(key, clock.now())) throw failure
  return { kind: 'unbootable', because: 'suspect', error: failure }
}

async function boot<T>(ref: string, attempt: BootAttempt, ports: BootPorts<T>, context: BootContext): Promise<T> {
  const { signal } = context
  const booting = Promise.resolve(ports.boot(ref, signal, attempt))
  // Who boots knows of the abort too, and without a discard it is the one to see to what arrives late.
  if (ports.discard === undefined) return booting
  try {
    return await untilAborted(booting, signal)
  } catch (error) {
    if (signal.aborted) {
      discardLate({ ref, attemptId: attempt.attemptId, booting, ports }, context, signal.reason)
    }
    throw error
  }
}

/** @returns undefined where it is certain that nothing came of the create */
async function adopt<T>(
  ref: string,
  attemptId: string,
  { how }: Extract<BootDiagnosis, { kind: 'ambiguous' }>,
  failure: unknown,
  ports: BootPorts<T>,
  context: BootContext,
): Promise<T | undefined> {
  if (ports.adopt === undefined) throw failure
  try {
    return await lookUpAttempt(async (signal) => ports.adopt?.(attemptId, signal, ref), how, context)
  } catch (error) {
    if (context.signal.aborted) {
      ports.abandon?.(attemptId, ref)
      throw context.signal.reason
    }
    // The create's own failure says more than that of the search after it.
    const why = isWarmboxError(error) ? error.message : error instanceof Error ? error.name : typeof error
    const message = `A create failed and could not be looked up afterwards, so a sandbox may be left: ${why}`
    context.emit({ type: 'warning', code: 'SANDBOX_MAY_REMAIN', message, ref })
    throw failure
  }
}
