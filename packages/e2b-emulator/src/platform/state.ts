import type { ImageId, Machine } from '../runtime/port.ts'
import type { Schemas } from './contract.ts'

/** Everything the platform knows. Plain data: handlers read and write it, nothing else holds state. */
export interface PlatformState {
  readonly templates: Map<string, TemplateRecord>
  readonly builds: Map<string, BuildRecord>
  readonly sandboxes: Map<string, SandboxRecord>
  /** Sandboxes on their way up, which already count against the limit. */
  readonly starting: Set<symbol>
  /** Uploaded archives of COPY steps by files hash: the file on the host. */
  readonly uploads: Map<string, string>
  /** Finished build layers by key, for the whole team. */
  readonly layers: Map<string, Layer>
}

export const emptyState = (): PlatformState => ({
  templates: new Map(),
  builds: new Map(),
  sandboxes: new Map(),
  starting: new Set(),
  uploads: new Map(),
  layers: new Map(),
})

export interface TemplateRecord {
  readonly id: string
  readonly owner: 'team' | 'other'
  /** `null`: a promoted public name, such as `base`. */
  readonly namespace: string | null
  readonly name: string
  readonly public: boolean
  readonly createdAt: number
  updatedAt: number
  lastSpawnedAt: number | undefined
  spawnCount: number
  /** Append-only: a tag points to the newest assignment whose build is ready. */
  assignments: readonly TagAssignment[]
}

export interface TagAssignment {
  readonly tag: string
  readonly buildId: string
  readonly createdAt: number
}

export interface BuildRecord {
  readonly id: string
  readonly templateId: string
  /** The tags the build was requested with. */
  readonly tags: readonly string[]
  readonly cpuCount: number
  readonly memoryMB: number
  readonly createdAt: number
  updatedAt: number
  state: BuildState
  readonly logs: Schemas['BuildLogEntry'][]
}

export type BuildState =
  | { readonly status: 'waiting' }
  | { readonly status: 'building'; readonly cancel: AbortController; readonly settled: Promise<void> }
  | { readonly status: 'ready'; readonly artifact: () => Promise<BuildArtifact> }
  | { readonly status: 'error'; readonly reason: BuildFailureReason }

export interface BuildFailureReason {
  readonly message: string
  /** `base`, `finalize`, or the number of the step, counted from 1. */
  readonly step: string | undefined
}

/** What a sandbox boots from. */
export interface BuildArtifact {
  readonly image: ImageId
  readonly context: BuildContext
  readonly startCommand: string | undefined
  readonly readyCommand: string | undefined
}

/** What steps hand to the steps after them, beyond the file system. */
export interface BuildContext {
  readonly user: string
  /** Absent: the home of the user. */
  readonly workdir: string | undefined
  readonly env: Readonly<Record<string, string>>
}

export interface Layer {
  readonly image: ImageId
  readonly context: BuildContext
}

export interface SandboxRecord {
  readonly id: string
  readonly templateId: string
  readonly buildId: string
  readonly alias: string | undefined
  readonly cpuCount: number
  readonly memoryMB: number
  readonly envdAccessToken: string | undefined
  readonly trafficAccessToken: string
  readonly metadata: Readonly<Record<string, string>> | undefined
  readonly network: Schemas['SandboxNetworkConfig'] | undefined
  readonly allowInternetAccess: boolean | undefined
  readonly lifecycle: SandboxLifecycle
  readonly context: BuildContext
  readonly envs: Readonly<Record<string, string>>
  readonly startedAt: number
  phase: SandboxPhase
}

export interface SandboxLifecycle {
  readonly onTimeout: 'kill' | 'pause'
  /** Whether a pause on timeout keeps memory, that is, frozen processes. */
  readonly keepMemory: boolean
  readonly autoResume: boolean
}

export type SandboxPhase =
  | RunningPhase
  | { readonly name: 'pausing'; readonly settled: Promise<void> }
  | PausedPhase
  | { readonly name: 'resuming'; readonly settled: Promise<void> }

export interface RunningPhase {
  readonly name: 'running'
  readonly machine: Machine
  readonly endAt: number
  readonly cancelExpiry: () => void
  /** Aborted when the sandbox leaves this phase: open streams are cut. */
  readonly traffic: AbortController
}

export interface PausedPhase {
  readonly name: 'paused'
  readonly pausedAt: number
  /** Frozen processes, or only the files where the pause dropped memory. */
  readonly kept: { readonly machine: Machine } | { readonly image: ImageId }
}
