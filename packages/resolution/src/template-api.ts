import type { TemplateBuilder } from 'e2b'
import type { BuildLogLevel } from './events.ts'

/** `ready`: bootable. `missing`: no ready build under the tag. `foreign`: the name belongs to another account. */
export type TemplateStatus = 'ready' | 'missing' | 'foreign'

/** The newest assignment of a tag, whatever the state of the build it points to. */
export interface TagAssignment {
  readonly tag: string
  readonly buildId: string
  readonly createdAt: Date
}

/** Names one build to the platform. */
export interface BuildHandle {
  readonly templateId: string
  readonly buildId: string
}

export interface BuildRequest {
  /** `name:tag`; the build carries this tag and no other. */
  readonly ref: string
  readonly template: TemplateBuilder
  readonly cpuCount: number
  readonly memoryMB: number
  /** Build every layer anew. Where it is absent the platform takes from its cache what it has. */
  readonly skipCache?: boolean
}

export interface BuildLogEntry {
  readonly timestamp: Date
  readonly level: BuildLogLevel
  readonly message: string
}

export type BuildState = 'waiting' | 'building' | 'ready' | 'error'

/** One build of a template, as a listing has it. */
export interface BuildSummary {
  readonly buildId: string
  readonly state: BuildState
  /** When it was requested. E2B does not tell when one ended. */
  readonly createdAt: Date
}

export interface BuildProgress {
  readonly state: BuildState
  /** Entries from the asked offset on, at most 100. */
  readonly logs: readonly BuildLogEntry[]
  /** Why the build failed; only with state `error`. `step` is a number, `base` or `finalize`. */
  readonly failure?: { readonly message: string; readonly step?: string }
}

/**
 * The only door to E2B's template calls. Every method rejects with a `ResolutionError` whose code tells the status
 * class (`AUTHENTICATION`, `QUOTA_EXCEEDED`, `PLATFORM`, ...); an aborted signal rejects with the signal's reason.
 */
export interface TemplateApi {
  /** Identifies endpoint and account without carrying the key; process-wide state is keyed by it. */
  readonly scope: string
  /** Is there a ready build under `name:tag`? Never ask with a bare name: that answers yes for failed builds. */
  status(ref: string, signal?: AbortSignal): Promise<TemplateStatus>
  /** The id behind a name of this account, `undefined` where there is none. */
  templateId(name: string, signal?: AbortSignal): Promise<string | undefined>
  /** All tags of a template by name or id, in no promised order; `undefined` where there is no such template. */
  tags(name: string, signal?: AbortSignal): Promise<readonly TagAssignment[] | undefined>
  /**
   * Registers a build of `ref`, and resolves once E2B told its id. The files of COPY steps are looked for before, and
   * sent by {@link startBuild}; the signal ends that too. Rejects with `INVALID_SPEC` where one has no source.
   */
  requestBuild(request: BuildRequest, signal?: AbortSignal): Promise<BuildHandle>
  /**
   * Sends the files of a requested build's COPY steps and starts it. Resolves once it runs; after a failure it may be
   * called again for the same build.
   */
  startBuild(build: BuildHandle, request: BuildRequest, signal?: AbortSignal): Promise<void>
  /** State of a build and the log entries from `logsOffset` on. */
  buildProgress(build: BuildHandle, logsOffset: number, signal?: AbortSignal): Promise<BuildProgress>
  /** Points tags at the newest ready build of `ref`. */
  assignTags(ref: string, tags: readonly string[], signal?: AbortSignal): Promise<void>
  /**
   * Takes tags away from a template, each with its whole history; one that is not there is no error. A build whose last
   * tag goes can never be reached again, not even by its id. E2B refuses `default`.
   */
  removeTags(name: string, tags: readonly string[], signal?: AbortSignal): Promise<void>
  /** Every build of a template that has a tag, newest first. By the template's id: a name is not found here. */
  listBuilds(templateId: string, signal?: AbortSignal): Promise<readonly BuildSummary[]>
}
