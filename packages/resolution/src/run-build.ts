import type { BuildEvent, BuildStep, Found } from './build-events.ts'
import { type BuildWish, newBuildMemory, nextBuildStep } from './build-policy.ts'
import { clearSuspicion, isCacheSuspect, noteStepFailure } from './cache-suspicion.ts'
import type { Clock } from './clock.ts'
import { isAccountFailure } from './code-classes.ts'
import { isResolutionError, type ResolutionError } from './errors.ts'
import type { ResolutionListener } from './events.ts'
import { findBuild } from './find-build.ts'
import { followBuild } from './follow-build.ts'
import { claimLease, type LeaseHold, leaseKey } from './hold-lease.ts'
import type { BuildLease } from './lease.ts'
import { pauseAfter } from './look-again.ts'
import { splitRef } from './refs.ts'
import type { BuildTarget } from './target.ts'
import { BuildTelling } from './tell-build.ts'
import type { BuildHandle, TagAssignment, TemplateApi } from './template-api.ts'
import { buildBodyOf, copiesFiles } from './template-content.ts'
import { unreachable } from './unreachable.ts'
import { isUnstarted, noteUnstarted } from './unstarted.ts'

export interface BuildContext {
  readonly api: TemplateApi
  readonly lease: BuildLease
  readonly clock: Clock
  readonly random: () => number
  readonly signal: AbortSignal
  readonly emit: ResolutionListener
  readonly background: boolean
  /** Told of a failure that says something about building the ref. */
  readonly onFailure: (failure: ResolutionError) => void
}

/** The holder of a lease needs it for two requests. */
const LEASE_PAUSE_MS = 250

/**
 * Performs what the build policy says until the ref has a ready build.
 * @throws ResolutionError the failure that ended it; the signal's reason when aborted.
 */
export async function runBuild(
  target: BuildTarget,
  wish: Omit<BuildWish, 'ref'>,
  context: BuildContext,
): Promise<'built' | 'joined'> {
  const run = new BuildRun(target, context)
  let memory = newBuildMemory({ ...wish, ref: target.ref })
  let event: BuildEvent = { kind: 'begun' }
  try {
    for (;;) {
      run.throwIfAborted()
      const next = nextBuildStep(memory, event)
      memory = next.memory
      const { step } = next
      if (memory.lease === 'unclaimed') await run.releaseLease()
      switch (step.do) {
        case 'finish':
          return step.how
        case 'fail':
          if (step.isBlind !== true) context.onFailure(step.failure)
          throw step.failure
        case 'claim':
        case 'look':
        case 'start':
        case 'await':
        case 'pause':
          event = await run.perform(step)
      }
    }
  } finally {
    run.leaveUnstarted()
    await run.releaseLease()
  }
}

class BuildRun {
  readonly #target: BuildTarget
  readonly #context: BuildContext
  readonly #telling: BuildTelling
  /** Ids of the builds requested here. */
  readonly #requested = new Set<string>()
  /** Those of them that were not started. */
  readonly #unstarted = new Set<string>()
  #lease: LeaseHold | undefined
  /** The newest build at the last look. */
  #found: TagAssignment | undefined
  /** Of the last build requested here. */
  #skippedCache = false
  #uploading: Promise<boolean> | undefined

  constructor(target: BuildTarget, context: BuildContext) {
    this.#target = target
    this.#context = context
    this.#telling = new BuildTelling(target.ref, context)
  }

  async perform(step: Exclude<BuildStep, { do: 'finish' | 'fail' }>): Promise<BuildEvent> {
    switch (step.do) {
      case 'claim':
        return this.#claim()
      case 'look':
        return this.#guarded('look', async () => ({ kind: 'found', found: await this.#look() }))
      case 'start':
        return this.#start(step.registered)
      case 'await':
        return this.#await(step.build, step.ours)
      case 'pause':
        return this.#pause(step.failures)
      default:
        return unreachable(step)
    }
  }

  throwIfAborted(): void {
    const { signal } = this.#context
    if (signal.aborted) this.#telling.abort()
    signal.throwIfAborted()
  }

  async #claim(): Promise<BuildEvent> {
    const { api, emit } = this.#context
    const { ref } = this.#target
    const claimed = await claimLease(leaseKey(api.scope, 'build', ref), ref, { ...this.#context, emit })
    if (claimed === 'taken') return { kind: 'taken' }
    this.#lease = claimed
    return { kind: 'claimed' }
  }

  async releaseLease(): Promise<void> {
    const lease = this.#lease
    this.#lease = undefined
    await lease?.release()
  }

  /** Before the lease is released: whoever has it next must not wait for them. */
  leaveUnstarted(): void {
    for (const buildId of this.#unstarted) noteUnstarted(this.#context.api.scope, buildId)
  }

  async #look(): Promise<Found> {
    const { api } = this.#context
    const { found, assignment } = await findBuild(this.#target, this.#context, {
      isOurs: (id) => this.#requested.has(id),
      isLeft: (id) => isUnstarted(api.scope, id),
      uploads: () => this.#uploads(),
    })
    this.#found = assignment
    return found
  }

  async #start(registered: BuildHandle | undefined): Promise<BuildEvent> {
    const { api, signal } = this.#context
    const { ref, template, resources } = this.#target
    if (this.#lease?.isHeld() !== true) return { kind: 'lost' }
    if (registered !== undefined && !this.#requested.has(registered.buildId)) return this.#startLeft(registered)
    if (registered === undefined) this.#skippedCache = isCacheSuspect(api.scope, ref)
    const request = { ref, template, ...resources, ...(this.#skippedCache ? { skipCache: true } : {}) }
    this.#telling.start()
    // Ends what a request left going on for a build that is not started.
    const unwanted = new AbortController()
    const requested = await this.#guarded('request', async () => {
      const build = registered ?? (await api.requestBuild(request, AbortSignal.any([signal, unwanted.signal])))
      this.#requested.add(build.buildId)
      this.#unstarted.add(build.buildId)
      return { kind: 'started', build }
    })
    if (requested.kind !== 'started') return this.#telling.after(requested)
    const outrun = await this.#guarded('start', async () =>
      !this.#lease?.isHeld() || (await this.#isOutrun(requested.build)) ? { kind: 'lost' } : requested,
    )
    if (outrun.kind !== 'started') {
      unwanted.abort()
      return this.#telling.after(outrun)
    }
    // A build that is registered and never started keeps others waiting, so only an upload, which takes long, is cut off.
    const cutOff = (await this.#uploads()) ? signal : undefined
    return this.#telling.after(
      await this.#guarded('start', async () => {
        await api.startBuild(requested.build, request, cutOff)
        this.#unstarted.delete(requested.build.buildId)
        return requested
      }),
    )
  }

  /**
   * Starts what somebody else requested and left. Should they start it after all, E2B refuses one of the two, and a look
   * tells that it runs.
   */
  async #startLeft(build: BuildHandle): Promise<BuildEvent> {
    const { api } = this.#context
    const { ref, template, resources } = this.#target
    this.#skippedCache = false
    this.#telling.takeOver(build.buildId, this.#requestedAt(build))
    return this.#telling.after(
      await this.#guarded('start', async () => {
        await api.startBuild(build, { ref, template, ...resources })
        this.#requested.add(build.buildId)
        return { kind: 'started', build }
      }),
    )
  }

  /** Whether builds of the target need files of the machine that requests them. */
  #uploads(): Promise<boolean> {
    this.#uploading ??= buildBodyOf(this.#target.template).then(copiesFiles)
    return this.#uploading
  }

  /**
   * Did somebody without the lease request the same ref meanwhile? Their request has failed ours, and a start of ours
   * would cancel theirs all the same before E2B looks at its state.
   */
  async #isOutrun({ buildId }: BuildHandle): Promise<boolean> {
    const { api } = this.#context
    const { name, tag } = splitRef(this.#target.ref)
    try {
      const newest = (await api.tags(name))?.find((assignment) => assignment.tag === tag)
      return newest !== undefined && newest.buildId !== buildId
    } catch (error) {
      // Not to know is no reason to leave a registered build behind; a key that is refused would be refused a start too.
      if (isResolutionError(error) && !isAccountFailure(error.code)) return false
      throw error
    }
  }

  async #await(build: BuildHandle, ours: boolean): Promise<BuildEvent> {
    let cached = false
    const onCacheHit = (): void => {
      cached = true
    }
    const requestedAt = this.#requestedAt(build)
    if (!ours) this.#telling.join(build.buildId)
    const event = await this.#guarded('wait', () =>
      followBuild(this.#target, build, ours, {
        ...this.#context,
        requestedAt,
        onCacheHit,
        uploads: () => this.#uploads(),
      }),
    )
    this.#learn(event, { cached, skippedCache: ours && this.#skippedCache })
    return this.#telling.after(event.kind === 'refused' ? { ...event, ours } : event)
  }

  /** On the platform's clock where the last look found it. */
  #requestedAt({ buildId }: BuildHandle): number {
    const isFound = this.#found?.buildId === buildId
    return (isFound ? this.#found?.createdAt.getTime() : undefined) ?? this.#context.clock.now()
  }

  #learn(event: BuildEvent, how: { readonly cached: boolean; readonly skippedCache: boolean }): void {
    const { scope } = this.#context.api
    const { ref } = this.#target
    if (event.kind === 'ready') clearSuspicion(scope, ref)
    if (event.kind === 'failed' && event.failure.code === 'BUILD_STEP_FAILED') {
      noteStepFailure(scope, ref, event.failure, how)
    }
  }

  async #pause(failures: number): Promise<BuildEvent> {
    const { clock, random, signal } = this.#context
    const delay = failures === 0 ? LEASE_PAUSE_MS * (0.5 + random()) : pauseAfter(failures, random)
    await clock.sleep(delay, signal)
    return { kind: 'paused' }
  }

  /** Answers of the platform become events; an abort and a defect of ours do not. */
  async #guarded(during: 'look' | 'request' | 'start' | 'wait', work: () => Promise<BuildEvent>): Promise<BuildEvent> {
    try {
      return await work()
    } catch (error) {
      if (this.#context.signal.aborted) {
        this.#telling.abort()
        throw error
      }
      if (!isResolutionError(error)) throw error
      return { kind: 'refused', during, failure: error }
    }
  }
}
