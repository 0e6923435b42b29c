import type { BuildEvent } from './build-events.ts'
import type { Clock } from './clock.ts'
import { isPassing } from './code-classes.ts'
import { isResolutionError, ResolutionError } from './errors.ts'
import type { ResolutionListener } from './events.ts'
import { failureGist } from './failure-gist.ts'
import { leftAfter } from './left-build.ts'
import type { Redactor } from './redact.ts'
import type { BuildTarget } from './target.ts'
import type { BuildHandle, BuildProgress, TemplateApi } from './template-api.ts'

interface FollowContext {
  readonly api: TemplateApi
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly emit: ResolutionListener
  /** When the build was requested, on the platform's clock. */
  readonly requestedAt: number
  /** Told whenever the log says that a step was taken from the cache. */
  readonly onCacheHit: () => void
  readonly uploads: () => Promise<boolean>
}

/** How long is waited between two questions for a build's state, in milliseconds. Somebody else's matters less. */
const OUR_POLL = { least: 200, most: 2_000 }
const JOINED_POLL = { least: 1_000, most: 10_000 }
/** Between those: so much of the time waited so far, by which the end of a build is noticed late at most. */
const POLL_SHARE = 0.05
/** Answers in a row that may fail before the build counts as out of sight. */
const MOST_POLL_FAILURES = 5
/** E2B gives at most 100 lines an answer; a log that never ends must not keep a finished build waiting. */
const MOST_TAIL_PAGES = 200

/**
 * Asks for the state of a build until it ended, or counts as abandoned, and relays the log of one of ours.
 * @throws ResolutionError where the state cannot be read; the signal's reason when aborted.
 */
export async function followBuild(
  { ref, redactor }: Pick<BuildTarget, 'ref' | 'redactor'>,
  build: BuildHandle,
  ours: boolean,
  { api, clock, emit, onCacheHit, requestedAt, signal, uploads }: FollowContext,
): Promise<BuildEvent> {
  const pace = ours ? OUR_POLL : JOINED_POLL
  const log = new BuildLogRelay(ref, ours, emit, onCacheHit)
  let waited = 0
  let failures = 0
  for (;;) {
    try {
      const progress = await api.buildProgress(build, log.offset, signal)
      failures = 0
      log.relay(progress)
      switch (progress.state) {
        case 'ready':
          await log.relayRest(() => api.buildProgress(build, log.offset, signal), signal)
          return { kind: 'ready', ours }
        case 'error':
          await log.relayRest(() => api.buildProgress(build, log.offset, signal), signal)
          return { kind: 'failed', failure: failureOf(ref, progress, redactor) }
        case 'waiting': {
          const left = await leftAfter(clock.now() - requestedAt, uploads)
          if (!ours && (left.abandoned || left.startable)) {
            return { kind: 'found', found: { kind: 'running', build, ours, ...left } }
          }
          break
        }
        case 'building':
          break
      }
    } catch (error) {
      failures += 1
      const isOver = !isResolutionError(error) || !isPassing(error.code) || failures > MOST_POLL_FAILURES
      if (isOver || signal.aborted) throw error
    }
    const delay = Math.min(Math.max(waited * POLL_SHARE, pace.least), pace.most)
    await clock.sleep(delay, signal)
    waited += delay
  }
}

/** The platform's own line for a layer it did not build again, `[builder 2/5] CACHED RUN ...`. */
const CACHE_HIT = /^(?:\[[^\]]*\] )?CACHED /

/** Relays the log of a build requested here. That of another process may quote secrets nobody here knows, and is not. */
class BuildLogRelay {
  /** Entries received so far. */
  offset = 0
  readonly #ref: string
  readonly #ours: boolean
  readonly #emit: ResolutionListener
  readonly #onCacheHit: () => void

  constructor(ref: string, ours: boolean, emit: ResolutionListener, onCacheHit: () => void) {
    this.#ref = ref
    this.#ours = ours
    this.#emit = emit
    this.#onCacheHit = onCacheHit
  }

  relay({ logs }: BuildProgress): void {
    this.offset += logs.length
    if (logs.some(({ message }) => CACHE_HIT.test(message))) this.#onCacheHit()
    if (!this.#ours) return
    for (const { message, level, timestamp } of logs) {
      this.#emit({ type: 'build-log', ref: this.#ref, line: message, level, timestamp })
    }
  }

  /** What is left of the log after the build ended. It is a courtesy: without it the end of the build is as good. */
  async relayRest(next: () => Promise<BuildProgress>, signal: AbortSignal): Promise<void> {
    if (!this.#ours) return
    try {
      for (let page = 0; page < MOST_TAIL_PAGES; page += 1) {
        const progress = await next()
        if (progress.logs.length === 0) return
        this.relay(progress)
      }
    } catch (error) {
      signal.throwIfAborted()
      const reason = error instanceof Error ? error.message : String(error)
      const message = `The end of the build log is missing: ${reason}`
      this.#emit({ type: 'warning', code: 'BUILD_LOG_CUT', message, ref: this.#ref })
    }
  }
}

/** E2B numbers the template's own steps; its own phases have names. */
const isTemplateStep = (step: string | undefined): boolean => step !== undefined && /^\d+$/.test(step)

/** Why a build ended, as an error: `BUILD_STEP_FAILED` where the template itself is at fault. */
export function failureOf(ref: string, { failure }: BuildProgress, redactor: Redactor): ResolutionError {
  const step = failure?.step
  const why = failure === undefined ? 'E2B gave no reason' : failureGist(redactor.text(failure.message))
  return isTemplateStep(step)
    ? new ResolutionError({
        code: 'BUILD_STEP_FAILED',
        message: `Step ${step} of the build of '${ref}' failed: ${why}`,
        hint: 'Read the build log and correct the step',
        step,
      })
    : new ResolutionError({ code: 'BUILD_FAILED', message: `The build of '${ref}' failed: ${why}`, step })
}
