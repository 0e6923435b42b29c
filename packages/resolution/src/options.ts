import type { ResolutionListener, Rung } from './events.ts'
import type { Clock } from './clock.ts'
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
}

export interface BootOptions<T> extends ResolveTemplateOptions {
  /**
   * Boots a ref. Throw {@link TemplateUnusableError}, or let E2B's 404 of create pass, to move to the next rung; any
   * other error ends the resolution unchanged, since a sandbox may exist after it.
   */
  boot(ref: string, signal: AbortSignal, attempt: { readonly rung: Rung }): Promise<T>
}
