import { type BuildEvent, type BuildStep, type Found, newBuildMemory, nextBuildStep } from './build-policy.ts'
import { isPassing } from './code-classes.ts'
import type { Clock } from './clock.ts'
import { ResolutionError } from './errors.ts'
import type { ResolutionListener } from './events.ts'
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

/** A build that nobody started for this long belongs to a client that is gone. Uploads happen before the start. */
const ABANDONED_AFTER_MS = 5 * 60_000
/** How a build's state is asked for, in milliseconds: from often to seldom. Somebody else's matters less. */
const OUR_POLL = { first: 250, most: 2_000 }
const JOINED_POLL = { first: 1_000, most: 10_000 }
const POLL_GROWTH = 1.4
/** Answers in a row that may fail before the build counts as out of sight. */
const MOST_POLL_FAILURES = 5
const FIRST_PAUSE_MS = 1_000
/** E2B gives at most 100 lines an answer; a log that never ends must not keep a finished build waiting. */
const MOST_TAIL_PAGES = 200

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
    return this.#told(await this.#guarded('wait', () => this.#poll(build, ours)))
  }

  async #poll(build: BuildHandle, ours: boolean): Promise<BuildEvent> {
    const { api, clock, signal } = this.#context
    const pace = ours ? OUR_POLL : JOINED_POLL
    const since = clock.now()
    let delay = pace.first
    let logsOffset = 0
    let failures = 0
    for (;;) {
      try {
        const progress = await api.buildProgress(build, logsOffset, signal)
        failures = 0
        logsOffset += this.#relay(progress, ours)
        switch (progress.state) {
          case 'ready':
            await this.#relayTail(build, logsOffset, ours)
            return { kind: 'ready', ours }
          case 'error':
            await this.#relayTail(build, logsOffset, ours)
            return { kind: 'failed', failure: failureOf(this.#target.ref, progress) }
          case 'waiting':
            if (!ours && clock.now() - since > ABANDONED_AFTER_MS) {
              return { kind: 'found', found: { kind: 'running', build, ours, abandoned: true } }
            }
            break
          case 'building':
            break
        }
      } catch (error) {
        failures += 1
        const isOver = !(error instanceof ResolutionError) || !isPassing(error.code) || failures > MOST_POLL_FAILURES
        if (isOver || signal.aborted) throw error
      }
      await clock.sleep(delay, signal)
      delay = Math.min(delay * POLL_GROWTH, pace.most)
    }
  }

  /**
   * Only the log of a build requested here is relayed: that of another process may quote secrets nobody here knows.
   * @returns the number of entries received.
   */
  #relay({ logs }: BuildProgress, ours: boolean): number {
    if (ours) {
      for (const { message, level, timestamp } of logs) {
        this.#context.emit({ type: 'build-log', ref: this.#target.ref, line: message, level, timestamp })
      }
    }
    return logs.length
  }

  async #relayTail(build: BuildHandle, from: number, ours: boolean): Promise<void> {
    const { api, signal } = this.#context
    let logsOffset = from
    if (!ours) return
    try {
      for (let page = 0; page < MOST_TAIL_PAGES; page += 1) {
        const received = this.#relay(await api.buildProgress(build, logsOffset, signal), ours)
        if (received === 0) return
        logsOffset += received
      }
    } catch (error) {
      signal.throwIfAborted()
      const { emit } = this.#context
      const reason = error instanceof Error ? error.message : String(error)
      emit({ type: 'warning', code: 'BUILD_LOG_CUT', message: `The end of the build log is missing: ${reason}` })
    }
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

/** E2B numbers the template's own steps; its own phases have names. */
const isTemplateStep = (step: string | undefined): boolean => step !== undefined && /^\d+$/.test(step)

function failureOf(ref: string, { failure }: BuildProgress): ResolutionError {
  const step = failure?.step
  const why = failure === undefined ? 'E2B gave no reason' : failure.message
  return isTemplateStep(step)
    ? new ResolutionError({
        code: 'BUILD_STEP_FAILED',
        message: `Step ${step} of the build of '${ref}' failed: ${why}`,
        hint: 'Read the build log and correct the step',
        step,
      })
    : new ResolutionError({ code: 'BUILD_FAILED', message: `The build of '${ref}' failed: ${why}`, step })
}
