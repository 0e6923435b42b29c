import type { FinishedWithoutFiles } from '../build/build-failure.ts'
import type { Clock } from '../clock.ts'
import type { EnvdVersion } from '../envd/index.ts'
import type { Runtime } from '../runtime/port.ts'
import type { Identifiers } from './identifiers.ts'
import type { PlatformState } from './state.ts'

/** The team the API key belongs to. */
export interface Team {
  /** A UUID. */
  readonly id: string
  /** Namespace of the team's templates in `names`. */
  readonly slug: string
}

/** Plan limits, as refused with 429 or 400. */
export interface Limits {
  readonly concurrentBuilds: number
  readonly concurrentSandboxes: number
  /** Longest life of a sandbox, in seconds from its start. */
  readonly sandboxSeconds: number
}

/** A build told to fail before it runs anything else, set by a test. */
export interface ScriptedBuildFailure {
  readonly message: string
  readonly step?: string
}

/** What every handler works on: state, and the world as parameters. */
export interface Platform {
  readonly state: PlatformState
  readonly clock: Clock
  readonly identifiers: Identifiers
  readonly team: Team
  readonly limits: Limits
  /** The envd that builds put into templates, and sandboxes run. */
  readonly envdVersion: EnvdVersion
  /** Resolved on first use: probing the machine is work that construction must not do. */
  runtime(): Promise<Runtime>
  /** A directory of the host for uploads, made on first use. */
  uploadDirectory(): string
  /** The origin that uploads are sent to. */
  uploadOrigin(request: URL): string
  /** A sandbox is gone for good: whatever was kept for it can be forgotten. */
  sandboxEnded(sandboxId: string): void
  /** Work nobody waits for now: it is awaited when the emulator closes. Must not reject. */
  background(work: Promise<void>): void
  /** Failures that the next started builds end with, oldest first. */
  readonly failNextBuilds: ScriptedBuildFailure[]
  /** What the next builds that another one cancels end in instead, oldest first. */
  readonly finishCancelledBuilds: FinishedWithoutFiles[]
}

export const isoTime = (milliseconds: number): string => new Date(milliseconds).toISOString()
