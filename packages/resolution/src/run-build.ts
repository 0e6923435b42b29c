import { type BuildEvent, type BuildStep, type Found, newBuildMemory, nextBuildStep } from './build-policy.ts'
import type { Clock } from './clock.ts'
import { ResolutionError } from './errors.ts'
import type { ResolutionListener } from './events.ts'
import { ABANDONED_AFTER_MS, followBuild } from './follow-build.ts'
import { splitRef } from './refs.ts'
import type { BuildTarget } from './target.ts'
import type { BuildHandle, BuildProgress, TemplateApi } from './template-api.ts'
import { unreachable } from './unreachable.ts'

export interface BuildContext {
  readonly api: TemplateApi
  readonly clock: Clock
  readonly random: () => number
  readonly signal: AbortSignal
  readonly emit: ResolutionListener
  readonly background: boolean
}

const FIRST_PAUSE_MS = 1_000
/**
 * Performs what the build policy says until the ref has a ready build.
 * @throws ResolutionError the failure that ended it; the signal's reason when aborted.
 */
export async function runBuild(
  target: BuildTarget,
  force: boolean,
  context: BuildContext,
): Promise<'built' | 'joined'> {
  const run = new BuildRun(target, context)
  let memory = newBuildMemory(force)
  let event: BuildEvent = { kind: 'begun' }
  for (;;) {
    context.signal.throwIfAborted()
    const next = nextBuildStep(memory, event)
    memory = next.memory
    const { step } = next
    switch (step.do) {
      case 'finish':
        return step.how
      case 'fail':
        throw step.failure
      case 'look':
      case 'start':
      case 'await':
      case 'pause':
        event = await run.perform(step)
    }
  }
}

class BuildRun {
  readonly #target: BuildTarget
  readonly #context: BuildContext
  /** Ids of the builds requested here. */
  readonly #requested = new Set<string>()
  /** When the build that was told of as started began; undefined once its end was told. */
  #startedAt: number | undefined

  constructor(target: BuildTarget, context: BuildContext) {
    this.#target = target
    this.#context = context
  }

  async perform(step: Exclude<BuildStep, { do: 'finish' | 'fail' }>): Promise<BuildEvent> {
    switch (step.do) {
      case 'look':
        return this.#guarded('look', async () => ({ kind: 'found', found: await this.#look() }))
      case 'start':
        return this.#start()
      case 'await':
        return this.#await(step.build, step.ours)
      case 'pause':
        return this.#pause(step.failures)
      default:
        return unreachable(step)
    }
  }

  /** alias -> tags -> status: the newest build under the tag, which need not be the one that boots. */
  async #look(): Promise<Found> {
    const { api, clock, signal } = this.#context
    const { name, tag } = splitRef(this.#target.ref)
    const newest = (await api.tags(name, signal))?.find((assignment) => assignment.tag === tag)
    if (newest === undefined) return { kind: 'none' }
    const templateId = await api.templateId(name, signal)
    if (templateId === undefined) return { kind: 'none' }
    const build: BuildHandle = { templateId, buildId: newest.buildId }
    const state = (await this.#progressOfKnown(build))?.state
    switch (state) {
      case 'ready':
        return { kind: 'ready' }
      case 'waiting':
      case 'building': {
        const ours = this.#requested.has(build.buildId)
        const isOld = clock.now() - newest.createdAt.getTime() > ABANDONED_AFTER_MS
        // A build of ours that still waits was never started, or we would not be looking.
        const abandoned = state === 'waiting' && (ours || isOld)
        return { kind: 'running', build, ours, abandoned }
      }
      case 'error':
      case undefined:
        return { kind: 'none' }
      default:
        return unreachable(state)
    }
  }

  /** E2B answers 400 or 404 for a build whose last tag is gone. */
  async #progressOfKnown(build: BuildHandle): Promise<BuildProgress | undefined> {
    try {
      return await this.#context.api.buildProgress(build, 0, this.#context.signal)
    } catch (error) {
      if (error instanceof ResolutionError && (error.code === 'BAD_REQUEST' || error.code === 'NOT_FOUND')) {
        return undefined
      }
      throw error
    }
  }

  async #start(): Promise<BuildEvent> {
    const { api, background, clock, emit, signal } = this.#context
    const { ref, template, resources } = this.#target
    const request = { ref, template, ...resources }
    this.#startedAt = clock.now()
    emit({ type: 'build-start', ref, background })
    const requested = await this.#guarded('request', async () => {
      const build = await api.requestBuild(request, signal)
      this.#requested.add(build.buildId)
      return { kind: 'started', build }
    })
    if (requested.kind !== 'started') return this.#told(requested)
    return this.#told(
      await this.#guarded('start', async () => {
        await api.startBuild(requested.build, request, signal)
        return requested
      }),
    )
  }

  async #await(build: BuildHandle, ours: boolean): Promise<BuildEvent> {
    return this.#told(await this.#guarded('wait', () => followBuild(this.#target, build, ours, this.#context)))
  }

  async #pause(failures: number): Promise<BuildEvent> {
    const { clock, random, signal } = this.#context
    // Jitter keeps processes that failed together from trying again together.
    await clock.sleep(FIRST_PAUSE_MS * 2 ** (failures - 1) * (0.5 + random()), signal)
    return { kind: 'paused' }
  }

  #told(event: BuildEvent): BuildEvent {
    switch (event.kind) {
      case 'ready':
        this.#end('ready')
        break
      case 'failed':
      case 'refused':
        this.#end('failed', event.failure)
        break
      case 'begun':
      case 'found':
      case 'paused':
      case 'started':
        break
    }
    return event
  }

  /** Tells the end of a build whose start was told. Joined builds have neither. */
  #end(outcome: 'ready' | 'failed' | 'aborted', failure?: ResolutionError): void {
    const { background, clock, emit } = this.#context
    const startedAt = this.#startedAt
    if (startedAt === undefined) return
    this.#startedAt = undefined
    emit({
      type: 'build-end',
      ref: this.#target.ref,
      background,
      outcome,
      ...(failure === undefined ? {} : { reason: failure.message }),
      ...(failure?.step === undefined ? {} : { step: failure.step }),
      durationMs: Math.max(0, clock.now() - startedAt),
    })
  }

  /** Answers of the platform become events; an abort and a defect of ours do not. */
  async #guarded(during: 'look' | 'request' | 'start' | 'wait', work: () => Promise<BuildEvent>): Promise<BuildEvent> {
    try {
      return await work()
    } catch (error) {
      if (this.#context.signal.aborted) {
        this.#end('aborted')
        throw error
      }
      if (!(error instanceof ResolutionError)) throw error
      return { kind: 'refused', during, failure: error }
    }
  }
}
