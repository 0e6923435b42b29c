import { advance } from './advance.ts'
import type { Clock } from './clock.ts'
import { createEmitter } from './emitter.ts'
import { ResolutionError } from './errors.ts'
import type { ResolutionListener } from './events.ts'
import { forgetFailure, rememberedFailure, rememberFailure } from './failure-memory.ts'
import { type FlightContext, shareFlight } from './flight.ts'
import type { FlightResult } from './process-state.ts'
import { runBuild } from './run-build.ts'
import type { BuildTarget } from './target.ts'
import type { TemplateApi } from './template-api.ts'

export interface ObtainContext {
  readonly api: TemplateApi
  readonly clock: Clock
  readonly random: () => number
  readonly signal: AbortSignal
  readonly emit: ResolutionListener
  readonly buildTimeoutMs: number
}

export interface ObtainOptions {
  /** A build that is ready already does not count. */
  readonly force: boolean
  readonly background: boolean
  /** Build although a build of this ref failed not long ago. */
  readonly despiteFailure: boolean
}

/**
 * Makes sure that `target.ref` has a ready build: joins one that runs, in this process or elsewhere, or builds, then
 * moves the build's tags.
 * @throws ResolutionError `BUILD_BACKOFF` without asking where it failed not long ago, `BUILD_TIMEOUT` when it takes
 * too long, else the failure of the build; the signal's reason when aborted.
 */
export async function obtain(
  target: BuildTarget,
  context: ObtainContext,
  options: ObtainOptions,
): Promise<FlightResult> {
  const { api, clock, emit } = context
  const key = `${api.scope}\n${target.ref}`
  if (!options.despiteFailure) {
    const failure = rememberedFailure(key, clock.now())
    if (failure !== undefined) {
      throw new ResolutionError({
        code: 'BUILD_BACKOFF',
        message: `'${target.ref}' is not built again yet: ${failure.message}`,
        hint: 'It is tried again after a while, when the ref changes, or by an explicit refresh',
      })
    }
  }
  const work = (flight: FlightContext): Promise<FlightResult> => build(key, target, context, options, flight)
  const { result, launchedHere } = await withinBuildTimeout(target.ref, context, (signal) =>
    shareFlight(key, work, { signal, listener: emit }),
  )
  return launchedHere ? result : { ...result, how: 'joined' }
}

/** The shared part. It belongs to everybody who waits, so it knows its launcher's target but not its signal. */
async function build(
  key: string,
  target: BuildTarget,
  { api, clock, random }: ObtainContext,
  { background, force }: ObtainOptions,
  flight: FlightContext,
): Promise<FlightResult> {
  const { signal } = flight
  // Others may listen whose redactors do not know the secrets of this build.
  const emit = createEmitter(flight.emit, target.redactor)
  try {
    const how = await runBuild(target, force, { api, clock, random, signal, emit, background })
    forgetFailure(key)
    return { how, advanceError: await advance(target, { api, signal, emit }) }
  } catch (error) {
    const told = target.redactor.error(error)
    if (told instanceof ResolutionError) rememberFailure(key, told, clock.now())
    throw told
  }
}

/** Bounds the waiting of one caller. The build itself goes on: for others here, and at E2B in any case. */
async function withinBuildTimeout<T>(
  ref: string,
  { clock, buildTimeoutMs, signal }: ObtainContext,
  wait: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController()
  const done = new AbortController()
  const limit = async (): Promise<void> => {
    try {
      await clock.sleep(buildTimeoutMs, done.signal)
    } catch {
      // The wait ended first, which is what the sleep was aborted for.
      return
    }
    over.abort(
      new ResolutionError({
        code: 'BUILD_TIMEOUT',
        message: `The build of '${ref}' did not end within ${buildTimeoutMs} ms`,
        hint: 'It may still end well; raise buildTimeoutMs to wait for it longer',
      }),
    )
  }
  const timer = limit()
  try {
    return await wait(AbortSignal.any([signal, over.signal]))
  } finally {
    done.abort()
    await timer
  }
}
