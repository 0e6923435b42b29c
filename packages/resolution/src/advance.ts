import type { ResolutionListener } from './events.ts'
import { splitRef } from './refs.ts'
import type { BuildTarget } from './target.ts'
import type { TagAssignment, TemplateApi } from './template-api.ts'

interface AdvanceContext {
  readonly api: TemplateApi
  readonly signal: AbortSignal
  readonly emit: ResolutionListener
}

/**
 * Moves the target's tags to its newest ready build, unless its content is no longer the current one. Call it only
 * after the build was seen ready.
 * @returns the error that kept the tags where they were; a build is good without them. An abort rejects.
 */
export async function advance(target: BuildTarget, { api, signal, emit }: AdvanceContext): Promise<unknown> {
  const { ref, buildTags: tags, isCurrent } = target
  if (tags.length === 0) return undefined
  try {
    if (isCurrent !== undefined && !(await isCurrent(signal))) {
      emit({ type: 'advance', ref, tags, outcome: 'superseded' })
      return undefined
    }
    await api.assignTags(ref, tags, signal)
    emit({ type: 'advance', ref, tags, outcome: 'moved' })
    return undefined
  } catch (error) {
    signal.throwIfAborted()
    const reason = error instanceof Error ? error.message : String(error)
    emit({ type: 'advance', ref, tags, outcome: 'failed', reason })
    return target.redactor.error(error)
  }
}

/**
 * The tags that were left behind: those that point elsewhere since before `ref` was requested. A tag that was moved
 * later is left alone, because somebody moved it on purpose.
 */
export function tagsLeftBehind(
  target: Pick<BuildTarget, 'ref' | 'buildTags'>,
  assigned: readonly TagAssignment[],
): readonly string[] {
  const own = assigned.find(({ tag }) => tag === splitRef(target.ref).tag)
  if (own === undefined) return []
  return target.buildTags.filter((tag) => {
    const pointer = assigned.find((assignment) => assignment.tag === tag)
    return (
      pointer === undefined ||
      (pointer.buildId !== own.buildId && pointer.createdAt.getTime() < own.createdAt.getTime())
    )
  })
}

/** The tags that point to another build than `ref` does, whenever they were moved. */
export function tagsElsewhere(
  target: Pick<BuildTarget, 'ref' | 'buildTags'>,
  assigned: readonly TagAssignment[],
): readonly string[] {
  const own = assigned.find(({ tag }) => tag === splitRef(target.ref).tag)
  return target.buildTags.filter((tag) => {
    const pointer = assigned.find((assignment) => assignment.tag === tag)
    return own === undefined || pointer?.buildId !== own.buildId
  })
}

/**
 * Catches up on an advance that did not happen: the process that built `ref` ended before, or the call failed. Only for
 * targets with `isCurrent`, since nothing else could tell an old build from the current one.
 */
export async function heal(
  target: BuildTarget,
  context: AdvanceContext,
  select: typeof tagsLeftBehind,
): Promise<unknown> {
  const { buildTags, isCurrent, ref } = target
  if (buildTags.length === 0 || isCurrent === undefined) return undefined
  const assigned = await context.api.tags(splitRef(ref).name, context.signal)
  const tags = select(target, assigned ?? [])
  return tags.length === 0 ? undefined : advance({ ...target, buildTags: tags }, context)
}
