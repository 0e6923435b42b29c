import { advance, catchUp, tagsElsewhere } from './advance.ts'
import { buildTarget } from './build-target.ts'
import type { Clock } from './clock.ts'
import { withinDeadline } from './deadline.ts'
import { createEmitter } from './emitter.ts'
import { isResolutionError, ResolutionError } from './errors.ts'
import type { ResolutionListener } from './events.ts'
import { forgetFailure, rememberedFailure, rememberFailure } from './failure-memory.ts'
import { type FlightContext, shareFlight } from './flight.ts'
import type { BuildLease } from './lease.ts'
import type { FlightResult } from './process-state.ts'
import type { BuildTarget } from './target.ts'
import type { TemplateApi } from './template-api.ts'

export interface ObtainContext {
  readonly api: TemplateApi
  readonly lease: BuildLease
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
 * Makes sure that `target.ref` has a ready build: joins one that runs, in this process or elsewhere, or builds. Its tags
 * begin to move then, which the result lets wait for.
 * @throws ResolutionError `BUILD_BACKOFF` where it failed not long ago, here or in any other process, `BUILD_TIMEOUT` when it takes
 * too long, else the failure of the build; the signal's reason when aborted.
 */
export async function obtain(
  target: BuildTarget,
  context: ObtainContext,
  options: ObtainOptions,
): Promise<FlightResult> {
  const { api, emit } = context
  const key = `${api.scope}\n${target.ref}`
  const work = (flight: FlightContext): Promise<FlightResult> => build(key, target, context, options, flight)
  const { background } = options
  const onJoin = (): void => emit({ type: 'build-joined', ref: target.ref, background, foundBy: 'process' })
  const { result, launchedHere } = await withinBuildTimeout(target.ref, context, (signal) =>
    shareFlight(key, work, { signal, listener: emit, onJoin }),
  )
  return launchedHere ? result : { ...result, how: 'joined', parent: undefined }
}

/** The shared part. It belongs to everybody who waits, so it knows its launcher's target but not its signal. */
async function build(
  key: string,
  target: BuildTarget,
  { api, clock, lease, random }: ObtainContext,
  { background, despiteFailure, force }: ObtainOptions,
  flight: FlightContext,
): Promise<FlightResult> {
  const { signal } = flight
  // What the build knows to be secret is taken out before anybody is told.
  const emit = createEmitter(flight.emit, target.redactor)
  const context = { api, clock, lease, random, signal, emit }
  const remembered = rememberedFailure(key, clock.now())?.message
  let ofBuild: ResolutionError | undefined
  try {
    const wish = { force, despiteFailure, remembered }
    const onFailure = (failure: ResolutionError): void => void (ofBuild = failure)
    const { how, parent, buildTags } = await buildTarget(target, wish, { ...context, background, onFailure })
    forgetFailure(key)
    // Everybody who joined the build gets here; who comes first moves the tags.
    const tagged = { ...target, buildTags }
    // Whoever wants to boot it need not wait for that, and leaving does not stop it: it ends by its own deadline.
    const unbound = { ...context, signal: new AbortController().signal }
    const advancing = how === 'built' ? advance(tagged, unbound) : catchUp(tagged, unbound, tagsElsewhere)
    return { how, parent, advancing }
  } catch (error) {
    const told = target.redactor.error(error)
    if (isResolutionError(told) && error === ofBuild) rememberFailure(key, told, clock.now())
    throw told
  }
}

/** Bounds the waiting of one caller. The build itself goes on: for others here, and at E2B in any case. */
function withinBuildTimeout<T>(
  ref: string,
  { clock, buildTimeoutMs, signal }: ObtainContext,
  wait: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const overdue = (): Error =>
    new ResolutionError({
      code: 'BUILD_TIMEOUT',
      message: `The build of '${ref}' did not end within ${buildTimeoutMs} ms`,
      hint: 'It may still end well; raise buildTimeoutMs to wait for it longer',
    })
  return withinDeadline({ clock, delayMs: buildTimeoutMs, signal, overdue }, wait)
}
