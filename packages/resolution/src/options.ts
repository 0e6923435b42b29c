import type { ResolutionListener, Rung } from './events.ts'
import { type Clock, systemClock } from './clock.ts'
import { ResolutionError } from './errors.ts'
import type { TemplateResources } from './spec.ts'
import type { TemplateApi } from './template-api.ts'

/** How long a build is awaited by default, in milliseconds: the platform itself gives up after one hour. */
export const DEFAULT_BUILD_TIMEOUT_MS = 3_600_000

export interface ResolveTemplateOptions {
  api: TemplateApi
  /** Ends the resolution with its reason; no timer or listener stays. A build already started goes on at E2B. */
  signal?: AbortSignal | undefined
  /** One call per step. Strings are redacted. */
  onEvent?: ResolutionListener | undefined
  /** Longest wait for one build, started here or joined, in milliseconds. Default one hour. */
  buildTimeoutMs?: number | undefined
  /** A string template that does not exist is an error instead of a warning and the default template. Default false. */
  strictTemplate?: boolean | undefined
  /** Given the promise of a background build, so that a serverless host stays alive for it. It never rejects. */
  waitUntil?: ((work: Promise<unknown>) => void) | undefined
  /** Size asked for where the spec itself names none; the default and fallback rungs honour it too. */
  resources?: TemplateResources | undefined
  /** Time source. Default: the system's. */
  clock?: Clock | undefined
  /** Source of jitter, from 0 up to 1. Default `Math.random`. */
  random?: (() => number) | undefined
}

export interface BootOptions<T> extends ResolveTemplateOptions {
  /**
   * Boots a ref. Throw {@link TemplateUnusableError}, or let E2B's 404 of create pass, to move to the next rung; any
   * other error ends the resolution unchanged, since a sandbox may exist after it.
   */
  boot(ref: string, signal: AbortSignal, attempt: { readonly rung: Rung }): Promise<T>
}

/** The options with every default filled in. */
export interface ResolvedOptions {
  readonly api: TemplateApi
  readonly signal: AbortSignal
  readonly onEvent: ResolutionListener | undefined
  readonly buildTimeoutMs: number
  readonly strictTemplate: boolean
  readonly waitUntil: ((work: Promise<unknown>) => void) | undefined
  readonly resources: TemplateResources | undefined
  readonly clock: Clock
  readonly random: () => number
}

/** The longest delay a timer of the platform can hold. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/**
 * @throws ResolutionError `INVALID_SPEC` for a build timeout that is no positive number of milliseconds, and
 * `MISSING_API_KEY` from the api itself: both before any request.
 */
export function resolveOptions(options: ResolveTemplateOptions): ResolvedOptions {
  const { api, buildTimeoutMs = DEFAULT_BUILD_TIMEOUT_MS } = options
  if (!(buildTimeoutMs > 0 && buildTimeoutMs <= LONGEST_TIMER_MS)) {
    throw new ResolutionError({
      code: 'INVALID_SPEC',
      message: `buildTimeoutMs: ${buildTimeoutMs} is not a number of milliseconds to wait`,
      hint: `Give a number from 1 to ${LONGEST_TIMER_MS}, or leave it out for one hour`,
    })
  }
  // Reading the scope is what makes a missing key known now, and not in the middle.
  void api.scope
  return Object.freeze({
    api,
    signal: options.signal ?? new AbortController().signal,
    onEvent: options.onEvent,
    buildTimeoutMs,
    strictTemplate: options.strictTemplate ?? false,
    waitUntil: options.waitUntil,
    resources: options.resources,
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
  })
}
