import { isResolutionError } from './errors.ts'
import { callGiven } from './given.ts'
import type { ResolutionListener } from './events.ts'
import { lookAgain } from './look-again.ts'
import { splitRef } from './refs.ts'
import { type BuildContext, runBuild } from './run-build.ts'
import type { BuildWish } from './build-policy.ts'
import type { IncrementalBuild } from './spec.ts'
import { isOfFiles } from './sdk-errors.ts'
import type { BuildTarget } from './target.ts'
import type { FlightResult } from './process-state.ts'

/** How a target got its build, and which tags that build moves. */
export interface TargetBuild extends Pick<FlightResult, 'how' | 'parent'> {
  readonly buildTags: readonly string[]
}

/**
 * Makes sure of a target's build, from an earlier build where the target offers that, and from nothing where that one
 * fails. Whether a joined build was made from nothing is not known, so it moves no tag that says so.
 * @throws ResolutionError the failure of the last build; the signal's reason when aborted.
 */
export async function buildTarget(
  target: BuildTarget,
  wish: Omit<BuildWish, 'ref'>,
  context: BuildContext,
): Promise<TargetBuild> {
  const { buildTags, incremental } = target
  const offer = wish.force ? undefined : await offerOf(target, context)
  if (offer !== undefined) {
    const { parent, template } = offer
    try {
      const emit = naming(parent, context.emit)
      const how = await runBuild({ ...target, template }, wish, { ...context, emit })
      return { how, parent: how === 'built' ? parent : undefined, buildTags }
    } catch (error) {
      if (context.signal.aborted || !isOfBuild(error)) throw error
      const message = `The build that goes on from '${parent}' failed, so it is built from nothing`
      context.emit({ type: 'warning', code: 'INCREMENTAL_BUILD_FAILED', message, ref: target.ref })
    }
  }
  // What the build from the earlier one came to says nothing about this one.
  const how = await runBuild(target, offer === undefined ? wish : { ...wish, despiteFailure: true }, context)
  const cleanTags = how === 'built' ? (incremental?.cleanTags ?? []) : []
  return { how, parent: undefined, buildTags: [...buildTags, ...cleanTags] }
}

async function offerOf(
  { incremental, ref }: BuildTarget,
  { api, clock, random, signal }: BuildContext,
): Promise<IncrementalBuild | undefined> {
  if (incremental === undefined) return undefined
  const tags = await lookAgain(() => api.tags(splitRef(ref).name, signal), { clock, random, signal })
  return tags === undefined ? undefined : callGiven(`incremental.from of '${ref}'`, async () => incremental.from(tags))
}

/** The build itself failed, in a step or because its parent is gone; everything else would meet any other build too. */
const isOfBuild = (error: unknown): boolean =>
  isResolutionError(error) &&
  ((error.code === 'BUILD_STEP_FAILED' && !isOfFiles(error)) || error.code === 'BUILD_FAILED')

const naming =
  (parent: string, emit: ResolutionListener): ResolutionListener =>
  (event) =>
    emit(event.type === 'build-start' || event.type === 'build-end' ? { ...event, parent } : event)
