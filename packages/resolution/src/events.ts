/**
 * One way to get a bootable ref. `exact`: the wanted ref is ready. `stale`: an earlier build, while the wanted one is
 * built. `joined`: someone else's running build was awaited. `built`: built here. `fallback`: the spec's fallback.
 * `default`: the default mountable template. `rebuilt`: the default template, built again.
 */
export type Rung = 'exact' | 'stale' | 'joined' | 'built' | 'fallback' | 'default' | 'rebuilt'

/**
 * What trying a rung came to. `booted` and `resolved` end the ladder; `missing`: nothing ready under the ref;
 * `failed`: a build or the platform failed; `unusable`: the ref could not be booted; `refused`: not ours to use;
 * `skipped`: not tried, for the reason given.
 */
export type AttemptOutcome = 'booted' | 'resolved' | 'missing' | 'failed' | 'unusable' | 'refused' | 'skipped'

/** One tried rung of a resolution, in the order of trying. */
export interface Attempt {
  readonly rung: Rung
  readonly ref: string
  readonly outcome: AttemptOutcome
  readonly reason?: string
  /** Code of the error behind the outcome, where there was one. */
  readonly code?: string
  readonly durationMs: number
}

export type BuildLogLevel = 'debug' | 'info' | 'warn' | 'error'

/**
 * What happens during a resolution, one event per step. Every string is redacted before it is emitted.
 *
 * Of a build that several resolutions of a process wait for, one of them tells: the one that was first. It alone gets
 * `build-start`, `build-log`, `build-end`, `build-taken-over` and `advance`, and the warnings about the build, also where it
 * was aborted and the others go on. Each of the others gets one `build-joined` instead.
 */
export type ResolutionEvent =
  | ({ readonly type: 'rung' } & Attempt)
  /** One create. `adopted`: it failed ambiguously and the sandbox it had made all the same was found. */
  | {
      readonly type: 'create'
      readonly ref: string
      readonly rung: Rung
      readonly outcome: 'created' | 'adopted' | 'unusable' | 'failed'
      readonly reason?: string
      readonly code?: string
      readonly durationMs: number
    }
  /** The last event of a resolution but for those of the background work it left. `durationMs` is that of all of it. */
  | {
      readonly type: 'resolution-end'
      readonly outcome: 'booted' | 'resolved' | 'failed' | 'aborted'
      /** What was booted or resolved. */
      readonly rung?: Rung
      readonly ref?: string
      readonly reason?: string
      readonly code?: string
      readonly durationMs: number
    }
  | {
      readonly type: 'build-start'
      readonly ref: string
      readonly background: boolean
      /** The build it goes on from; absent for one from nothing. */
      readonly parent?: string
    }
  /**
   * A build that was requested elsewhere is awaited; it has no `build-start` and `build-end` here, nor a log. `foundBy`:
   * `process`: another resolution of this process makes sure of the ref already, and tells of it; `tag`: the ref's tag
   * led to a build of another process; `race`: one of another process took the place of what was tried here.
   */
  | {
      readonly type: 'build-joined'
      readonly ref: string
      readonly background: boolean
      readonly foundBy: 'process' | 'tag' | 'race'
      /** Absent where a resolution of this process has it in hand. */
      readonly buildId?: string
    }
  /** A build that somebody requested and never started is started here; its `build-start` follows. */
  | {
      readonly type: 'build-taken-over'
      readonly ref: string
      readonly background: boolean
      readonly buildId: string
      /** Since it was requested. */
      readonly waitedMs: number
    }
  | {
      readonly type: 'build-log'
      readonly ref: string
      readonly line: string
      readonly level: BuildLogLevel
      readonly timestamp: Date
    }
  | {
      readonly type: 'build-end'
      readonly ref: string
      readonly background: boolean
      readonly outcome: 'ready' | 'failed' | 'aborted'
      /** The build it went on from; absent for one from nothing. */
      readonly parent?: string
      readonly reason?: string
      /** The step that failed, as the platform names it: a number, `base` or `finalize`. */
      readonly step?: string
      readonly durationMs: number
    }
  | {
      readonly type: 'advance'
      readonly ref: string
      readonly tags: readonly string[]
      /** `superseded`: the ref is no longer the current one, so the tags stayed where they were. */
      readonly outcome: 'moved' | 'superseded' | 'failed'
      readonly reason?: string
    }
  | { readonly type: 'warning'; readonly code: string; readonly message: string; readonly ref?: string }

/** Receives the events of a resolution. A listener that throws does not disturb the resolution. */
export type ResolutionListener = (event: ResolutionEvent) => void
