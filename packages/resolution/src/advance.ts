import type { Clock } from './clock.ts'
import { withinDeadline } from './deadline.ts'
import { ResolutionError } from './errors.ts'
import type { ResolutionListener } from './events.ts'
import { untilAborted } from './flight.ts'
import { callGiven } from './given.ts'
import { claimLease, type LeaseHold, leaseKey } from './hold-lease.ts'
import type { BuildLease } from './lease.ts'
import { splitRef } from './refs.ts'
import type { BuildTarget } from './target.ts'
import type { TagAssignment, TemplateApi } from './template-api.ts'

export interface AdvanceContext {
  readonly api: TemplateApi
  readonly lease: BuildLease
  readonly clock: Clock
  readonly random: () => number
  readonly signal: AbortSignal
  readonly emit: ResolutionListener
}

/** Chooses among a target's tags those to be moved. */
export type TagSelection = (
  target: Pick<BuildTarget, 'ref' | 'buildTags'>,
  assigned: readonly TagAssignment[],
) => readonly string[]

/** Moving tags takes its holder a head lookup and a request; more than these pauses is a holder that hangs. */
const MOST_LEASE_PAUSES = 40
const LEASE_PAUSE_MS = 250
/** All of it: the wait for the lease, `isCurrent` and the requests. A build is good without its tags. */
const ADVANCE_TIMEOUT_MS = 60_000

/**
 * Moves the target's tags to its newest ready build, unless its content is no longer the current one. Call it only
 * after the build was seen ready.
 *
 * The currency is asked while the lease of the template's tags is held, so among the holders of one lease the answers
 * and the moves have the same order: tags follow the head and never go back. Without a lease in common the gap is as
 * long as the request that moves them.
 * @returns the error that kept the tags where they were, `REQUEST_TIMEOUT` where that took longer than a minute; a build is
 * good without them. An abort rejects.
 */
export const advance = (target: BuildTarget, context: AdvanceContext): Promise<unknown> =>
  told(target, context, (bounded) => moveTags(target, bounded))

/**
 * Moves what of the target's tags is selected: to catch up on an advance that did not happen, because the process that
 * built `ref` ended before or the call failed, and not to move again what somebody else moved already.
 * @returns as {@link advance} does
 */
export const catchUp = (target: BuildTarget, context: AdvanceContext, select: TagSelection): Promise<unknown> =>
  told(target, context, async (bounded) => {
    const { api, signal } = bounded
    const assigned = await api.tags(splitRef(target.ref).name, signal)
    const tags = select(target, assigned ?? [])
    if (tags.length > 0) await moveTags({ ...target, buildTags: tags }, bounded)
  })

/** As {@link catchUp}, for targets with `isCurrent` only: nothing else could tell an old build from the current one. */
export const heal = (target: BuildTarget, context: AdvanceContext, select: TagSelection): Promise<unknown> =>
  target.isCurrent === undefined ? Promise.resolve(undefined) : catchUp(target, context, select)

async function told(
  { buildTags: tags, redactor, ref }: BuildTarget,
  context: AdvanceContext,
  work: (bounded: AdvanceContext) => Promise<void>,
): Promise<unknown> {
  const { clock, emit, signal } = context
  if (tags.length === 0) return undefined
  const overdue = (): Error => tookTooLong(ref)
  try {
    await withinDeadline({ clock, delayMs: ADVANCE_TIMEOUT_MS, signal, overdue }, (bounded) =>
      work({ ...context, signal: bounded }),
    )
    return undefined
  } catch (error) {
    signal.throwIfAborted()
    const reason = error instanceof Error ? error.message : String(error)
    emit({ type: 'advance', ref, tags, outcome: 'failed', reason })
    return redactor.error(error)
  }
}

async function moveTags(target: BuildTarget, context: AdvanceContext): Promise<void> {
  const { api, emit, signal } = context
  const { buildTags: tags, isCurrent, ref } = target
  // Without an order among builds there is none to keep.
  if (isCurrent === undefined) {
    await api.assignTags(ref, tags, signal)
    emit({ type: 'advance', ref, tags, outcome: 'moved' })
    return
  }
  const lease = await waitForLease(ref, context)
  try {
    // Nobody waits for a function that does not mind the signal.
    const asking = callGiven(`isCurrent of '${ref}'`, async () => isCurrent(signal), signal)
    if (!(await untilAborted(asking, signal))) {
      emit({ type: 'advance', ref, tags, outcome: 'superseded' })
      return
    }
    if (!lease.isHeld()) throw outOfTurn(ref, 'was lost')
    await api.assignTags(ref, tags, signal)
    emit({ type: 'advance', ref, tags, outcome: 'moved' })
  } finally {
    await lease.release()
  }
}

async function waitForLease(ref: string, context: AdvanceContext): Promise<LeaseHold> {
  const { api, clock, random, signal } = context
  const key = leaseKey(api.scope, 'tags', splitRef(ref).name)
  for (let pauses = 0; pauses < MOST_LEASE_PAUSES; pauses += 1) {
    const claimed = await claimLease(key, ref, context)
    if (claimed !== 'taken') return claimed
    await clock.sleep(LEASE_PAUSE_MS * (0.5 + random()), signal)
  }
  throw outOfTurn(ref, 'is not given up by its holder')
}

const tookTooLong = (ref: string): ResolutionError =>
  new ResolutionError({
    code: 'REQUEST_TIMEOUT',
    message: `The tags of '${ref}' stay where they are: moving them took longer than ${ADVANCE_TIMEOUT_MS} ms`,
    hint: 'Let isCurrent end when its signal does; the next session or refresh moves them',
  })

const outOfTurn = (ref: string, why: string): ResolutionError =>
  new ResolutionError({
    code: 'CONFLICT',
    message: `The tags of '${ref}' stay where they are: the lease to move them ${why}`,
    hint: 'The next session or refresh moves them',
  })

/**
 * The tags that were left behind: those that point elsewhere since before `ref` was requested, or to a build that was
 * requested later, as after a head that went back. A tag that was moved later to an older build is left alone, because
 * somebody moved it on purpose: a rollback lasts until the next head is built.
 */
export const tagsLeftBehind: TagSelection = ({ buildTags, ref }, assigned) => {
  const own = assigned.find(({ tag }) => tag === splitRef(ref).tag)
  if (own === undefined) return []
  const ownTime = own.createdAt.getTime()
  return buildTags.filter((tag) => {
    const pointer = assigned.find((assignment) => assignment.tag === tag)
    if (pointer === undefined) return true
    if (pointer.buildId === own.buildId) return false
    const requestedAt = requestTime(pointer.buildId, buildTags, assigned)
    return pointer.createdAt.getTime() < ownTime || (requestedAt !== undefined && requestedAt > ownTime)
  })
}

/** A build gets its own tag when it is requested; tags that move say nothing about that. */
function requestTime(
  buildId: string,
  moving: readonly string[],
  assigned: readonly TagAssignment[],
): number | undefined {
  const times = assigned
    .filter((assignment) => assignment.buildId === buildId && !moving.includes(assignment.tag))
    .map(({ createdAt }) => createdAt.getTime())
  return times.length === 0 ? undefined : Math.min(...times)
}

/** The tags that point to another build than `ref` does, whenever they were moved. */
export const tagsElsewhere: TagSelection = ({ buildTags, ref }, assigned) => {
  const own = assigned.find(({ tag }) => tag === splitRef(ref).tag)
  return buildTags.filter((tag) => {
    const pointer = assigned.find((assignment) => assignment.tag === tag)
    return own === undefined || pointer?.buildId !== own.buildId
  })
}
