import type { ResolutionListener, Rung } from './events.ts'
import { type Clock, systemClock } from './clock.ts'
import type { BuildLease } from './lease.ts'
import { createMemoryLease } from './memory-lease.ts'
import {
  assertBoolean,
  assertFunction,
  assertKnownNames,
  assertMethods,
  assertResources,
  isRecord,
  type MethodsOf,
  refuseInput,
} from './option-checks.ts'
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
  /** Given the promise of a background build or of tags that move, so that a serverless host stays alive for it. It never rejects. */
  waitUntil?: ((work: Promise<unknown>) => void) | undefined
  /** Size asked for where the spec itself names none; the default and fallback rungs honour it too. */
  resources?: TemplateResources | undefined
  /**
   * Keeps processes that share an account from requesting the same build twice and, for specs with `isCurrent`, from moving
   * tags back. Default: one in memory, which does so within this process; others then find each other's builds and join them.
   */
  lease?: BuildLease | undefined
  /** Time source. Default: the system's. */
  clock?: Clock | undefined
  /** Source of jitter, from 0 up to 1. Default `Math.random`. */
  random?: (() => number) | undefined
}

/** What {@link prepareResolution} needs; what is left of the options is given to `bootFromSpec`. */
export type PrepareResolutionOptions = Pick<
  ResolveTemplateOptions,
  'api' | 'signal' | 'strictTemplate' | 'resources' | 'clock'
>

/** One create. */
export interface BootAttempt {
  /** Unique to this create. Stored with the sandbox, it is how `adopt` finds what came of it. */
  readonly attemptId: string
  /** `exact` outside a ladder. */
  readonly rung: Rung
}

/** How a ref becomes a `T`, mostly a sandbox. */
export interface BootPorts<T> {
  /**
   * Boots a ref. E2B's 404 of create, or {@link TemplateUnusableError}, moves to the next rung. After a failure of the
   * platform (5xx, no answer in time, a lost connection) `adopt` looks for what came of it. Any other error ends the
   * resolution and propagates unchanged.
   *
   * A create that is cut off may have made a sandbox all the same, so give the signal to nothing that sends it: let it
   * end, and give `discard`. Without `discard` an abort is left to `boot`: the resolution waits for it, takes what it
   * resolves with, and whatever it made before it rejected is its own to discard.
   */
  boot(ref: string, signal: AbortSignal, attempt: BootAttempt): Promise<T>
  /**
   * Finds what a create made that failed ambiguously, by its attempt id; undefined where there is nothing. Without it
   * such a failure always ends the resolution. With it, and nothing found, the failure ends the resolution too, and the
   * ref is suspect for ten minutes: where that happens again meanwhile, the ref counts as unusable.
   */
  adopt?(attemptId: string, signal: AbortSignal, ref: string): Promise<T | undefined>
  /**
   * Given what `boot` or `adopt` resolves with after the resolution was aborted: nobody else gets it, so kill it. The
   * aborted resolution has rejected by then; `settleBackgroundBuilds` waits for this, and a failure becomes a
   * `SANDBOX_MAY_REMAIN` warning.
   */
  discard?(value: T): unknown
  /**
   * Told that the resolution was aborted and it is not known what came of a create: whatever did, found by the attempt id,
   * is not wanted any more. That is so where the abort ended the search by `adopt` and, with `discard`, where `boot`
   * fails ambiguously after the abort. It is not waited for and must not throw.
   */
  abandon?(attemptId: string, ref: string): void
}

export interface BootOptions<T> extends ResolveTemplateOptions, BootPorts<T> {}

/** The options with every default filled in. */
export interface ResolvedOptions {
  readonly api: TemplateApi
  readonly signal: AbortSignal
  readonly onEvent: ResolutionListener | undefined
  readonly buildTimeoutMs: number
  readonly strictTemplate: boolean
  readonly waitUntil: ((work: Promise<unknown>) => void) | undefined
  readonly resources: TemplateResources | undefined
  readonly lease: BuildLease
  readonly clock: Clock
  readonly random: () => number
}

/** The longest delay a timer of the platform can hold. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** The options of every function there is: one object may serve several of them. */
export const OPTION_NAMES: Readonly<Record<keyof BootOptions<unknown> | 'force', true>> = {
  api: true,
  signal: true,
  onEvent: true,
  buildTimeoutMs: true,
  strictTemplate: true,
  waitUntil: true,
  resources: true,
  lease: true,
  clock: true,
  random: true,
  boot: true,
  adopt: true,
  discard: true,
  abandon: true,
  force: true,
}

const API_METHODS: MethodsOf<TemplateApi> = {
  status: true,
  templateId: true,
  tags: true,
  requestBuild: true,
  startBuild: true,
  buildProgress: true,
  assignTags: true,
  removeTags: true,
  listBuilds: true,
}
const LEASE_METHODS: MethodsOf<BuildLease> = { acquire: true, renew: true, release: true }
const CLOCK_METHODS: MethodsOf<Clock> = { now: true, sleep: true }
/** Those this package calls; of the rest of a signal nothing is asked. */
const SIGNAL_METHODS = { addEventListener: true, removeEventListener: true, throwIfAborted: true } as const

/**
 * @throws ResolutionError `INVALID_SPEC` for an option that has not its form, such as a build timeout that is no positive
 * number of milliseconds, or a name that nobody knows, and `MISSING_API_KEY` from the api itself: all before any request.
 */
export function resolveOptions(options: ResolveTemplateOptions): ResolvedOptions {
  assertForms(options)
  const { api, buildTimeoutMs = DEFAULT_BUILD_TIMEOUT_MS, clock = systemClock } = options
  // Reading the scope is what makes a missing key known now, and not in the middle.
  const scope: unknown = api.scope
  if (typeof scope !== 'string') refuseInput('api.scope is not a string', API_HINT)
  return Object.freeze({
    api,
    signal: options.signal ?? new AbortController().signal,
    onEvent: options.onEvent,
    buildTimeoutMs,
    strictTemplate: options.strictTemplate ?? false,
    waitUntil: options.waitUntil,
    resources: options.resources,
    lease: options.lease ?? createMemoryLease(clock),
    clock,
    random: options.random ?? Math.random,
  })
}

const API_HINT = 'Give what createTemplateApi() returns as api'

function assertForms(options: ResolveTemplateOptions): void {
  if (!isRecord(options)) refuseInput('The options are not an object', 'Write them like { api: createTemplateApi() }')
  assertKnownNames('the options', options, OPTION_NAMES, { isOpen: false })
  assertMethods('api', options.api, API_METHODS, API_HINT)
  assertGivenOptions(options)
}

/**
 * Checks the form of those options that are given, for callers with work of their own to do before a resolution.
 * @throws ResolutionError `INVALID_SPEC`
 */
export function assertGivenOptions(options: {
  readonly [Name in keyof Omit<ResolveTemplateOptions, 'api'>]?: unknown
}): void {
  const { buildTimeoutMs, clock, lease, onEvent, random, resources, signal, strictTemplate, waitUntil } = options
  if (signal !== undefined) {
    assertMethods('signal', signal, SIGNAL_METHODS, 'Give the signal of an AbortController, or leave it out')
  }
  if (clock !== undefined) {
    assertMethods('clock', clock, CLOCK_METHODS, "Give a Clock, or leave it out for the system's")
  }
  if (lease !== undefined) {
    assertMethods('lease', lease, LEASE_METHODS, 'Give a BuildLease, or leave it out for one of this process')
  }
  if (buildTimeoutMs !== undefined && !isDelay(buildTimeoutMs)) {
    refuseInput(
      'buildTimeoutMs is not a number of milliseconds to wait',
      `Give a number from 1 to ${LONGEST_TIMER_MS}, or leave it out for one hour`,
    )
  }
  assertFunction('onEvent', onEvent)
  assertFunction('waitUntil', waitUntil)
  assertFunction('random', random)
  assertBoolean('strictTemplate', strictTemplate)
  assertResources('resources', resources)
}

const isDelay = (value: unknown): boolean => typeof value === 'number' && value > 0 && value <= LONGEST_TIMER_MS

const PORTS_HINT = 'Give a function (ref) => Promise as boot'

/** @throws ResolutionError `INVALID_SPEC` */
export function assertPorts({
  abandon,
  adopt,
  boot,
  discard,
}: { readonly [Port in keyof BootPorts<unknown>]: unknown }): void {
  if (typeof boot !== 'function') refuseInput('boot is not a function', PORTS_HINT)
  assertFunction('adopt', adopt)
  assertFunction('discard', discard)
  assertFunction('abandon', abandon)
}
