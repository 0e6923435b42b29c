import type { Found } from './build-events.ts'
import type { Clock } from './clock.ts'
import { isResolutionError } from './errors.ts'
import { isFreshFailure } from './failure-memory.ts'
import { failureOf } from './follow-build.ts'
import { leftAfter } from './left-build.ts'
import { splitRef } from './refs.ts'
import type { BuildTarget } from './target.ts'
import type { BuildHandle, BuildProgress, TagAssignment, TemplateApi } from './template-api.ts'
import { unreachable } from './unreachable.ts'

export interface FindContext {
  readonly api: TemplateApi
  readonly clock: Clock
  readonly signal: AbortSignal
}

export interface FoundBuild {
  readonly found: Found
  /** The assignment that leads to it. */
  readonly assignment: TagAssignment | undefined
}

const none = (isNameKnown: boolean): FoundBuild => ({ found: { kind: 'none', isNameKnown }, assignment: undefined })

/**
 * alias -> tags -> status: the newest build under the ref's tag, which need not be the one that boots. Changes nothing.
 * @param run whether the looking run requested a build, whether it or an earlier one of this process requested it and
 * left it, and whether its builds upload files
 */
export async function findBuild(
  { ref, redactor }: Pick<BuildTarget, 'ref' | 'redactor'>,
  context: FindContext,
  run: {
    readonly isOurs: (buildId: string) => boolean
    readonly isLeft: (buildId: string) => boolean
    readonly uploads: () => Promise<boolean>
  },
): Promise<FoundBuild> {
  const { api, clock, signal } = context
  const { name, tag } = splitRef(ref)
  const assigned = await api.tags(name, signal)
  const assignment = assigned?.find((each) => each.tag === tag)
  if (assignment === undefined) return none(assigned !== undefined)
  const templateId = await api.templateId(name, signal)
  if (templateId === undefined) return none(false)
  const build: BuildHandle = { templateId, buildId: assignment.buildId }
  const progress = await progressOfKnown(build, context)
  if (progress === undefined) return none(true)
  const requestedAt = assignment.createdAt.getTime()
  switch (progress.state) {
    case 'ready':
      return { found: { kind: 'ready' }, assignment }
    case 'waiting':
    case 'building': {
      const ours = run.isOurs(build.buildId)
      if (progress.state === 'building')
        return { found: { kind: 'running', build, ours, abandoned: false }, assignment }
      // A build of ours that still waits was never started, or we would not be looking.
      if (ours) return { found: { kind: 'running', build, ours, abandoned: true }, assignment }
      if (run.isLeft(build.buildId)) return { found: { kind: 'running', build, ours, abandoned: true }, assignment }
      const left = await leftAfter(clock.now() - requestedAt, run.uploads)
      return { found: { kind: 'running', build, ours, ...left }, assignment }
    }
    case 'error': {
      const failure = failureOf(ref, progress, redactor)
      const isFresh = isFreshFailure(failure, requestedAt, clock.now())
      return { found: { kind: 'broken', failure, isFresh }, assignment }
    }
    default:
      return unreachable(progress.state)
  }
}

/** E2B answers 400 or 404 for a build whose last tag is gone. */
async function progressOfKnown(
  build: BuildHandle,
  { api, signal }: Pick<FindContext, 'api' | 'signal'>,
): Promise<BuildProgress | undefined> {
  try {
    return await api.buildProgress(build, 0, signal)
  } catch (error) {
    if (isResolutionError(error) && (error.code === 'BAD_REQUEST' || error.code === 'NOT_FOUND')) return undefined
    throw error
  }
}
