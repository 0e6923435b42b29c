import type { EnvdVersion } from '../envd/index.ts'
import type { ImageId, Machine } from '../runtime/port.ts'
import type { Schemas } from './contract.ts'
import type { ActivityEntry, Journals } from './observation/journal.ts'

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
  /** Ids of templates that are gone, which no name may equal either. */
  readonly deletedTemplates: Set<string>
  /** What booting remembers of tags; see tag-cache.ts. */
  readonly tagCache: Map<string, { readonly ready: ReadyBuild; readonly at: number }>
  /** Running builds whose API process is gone: their end is noticed, and what was remembered of their tags stays. */
  readonly orphanedBuilds: Set<string>
  /** What was seen of each sandbox. */
  readonly journals: Journals
  /** How many sandboxes ran when. */
  readonly activity: ActivityEntry[]
  /** Images with more than one holder: how many there are beyond the first. */
  readonly sharedImages: Map<ImageId, number>
}

export const emptyState = (): PlatformState => ({
  templates: new Map(),
  builds: new Map(),
  sandboxes: new Map(),
  starting: new Set(),
  uploads: new Map(),
  layers: new Map(),
  deletedTemplates: new Set(),
  tagCache: new Map(),
  orphanedBuilds: new Set(),
  journals: new Map(),
  activity: [],
  sharedImages: new Map(),
})

export interface TemplateRecord {
  readonly id: string
  readonly owner: 'team' | 'other'
  /** `null`: a promoted public name, such as `base`. */
  readonly namespace: string | null
  /** Undefined: a snapshot that was given no name, which its id alone names. */
  readonly name: string | undefined
  readonly source: TemplateSource
  readonly public: boolean
  readonly createdAt: number
  updatedAt: number
  lastSpawnedAt: number | undefined
  spawnCount: number
  /** Append-only: a tag points to the newest assignment whose build is ready. */
  assignments: readonly TagAssignment[]
}

/** What a template is made by. Snapshots stay out of template lists, and no build can be started for them. */
export type TemplateSource =
  | { readonly kind: 'build' }
  /** The sandbox it was first taken of. */
  | { readonly kind: 'snapshot'; readonly sandboxId: string }

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

/** A build, and how to get what boots from it. */
export interface ReadyBuild {
  readonly build: BuildRecord
  readonly artifact: () => Promise<BuildArtifact>
}

/** What a sandbox boots from. */
export interface BuildArtifact extends BootInstructions {
  readonly image: ImageId
}

/** What happens in a machine over an image before it is a sandbox; the same for every copy of that sandbox. */
export interface BootInstructions {
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

/** What a sandbox is, apart from its identity: its forks are the same. */
export interface SandboxTraits {
  readonly templateId: string
  readonly buildId: string
  readonly alias: string | undefined
  readonly cpuCount: number
  readonly memoryMB: number
  readonly metadata: Readonly<Record<string, string>> | undefined
  network: Schemas['SandboxNetworkConfig'] | undefined
  allowInternetAccess: boolean | undefined
  readonly lifecycle: SandboxLifecycle
  readonly boot: BootInstructions
  /** What was given at create. It lives in memory, so it is gone after a boot from files alone. */
  envs: Readonly<Record<string, string>>
}

export interface SandboxRecord extends SandboxTraits {
  readonly id: string
  readonly envdAccessToken: string | undefined
  readonly trafficAccessToken: string
  readonly startedAt: number
  readonly envdVersion: EnvdVersion
  /** The life it was given when it was created, in seconds. */
  readonly timeoutSeconds: number
  phase: SandboxPhase
  /**
   * The last state that was stored: by a pause that is over, a snapshot or a fork. Only a kill on request forgets it, so it
   * is what a sandbox that its timeout killed comes back in.
   */
  stored: StoredState | undefined
}

export interface StoredState {
  readonly image: ImageId
  readonly storedAt: number
}

export interface SandboxLifecycle {
  readonly onTimeout: 'kill' | 'pause'
  /** Whether a pause on timeout keeps memory, that is, frozen processes. */
  readonly keepMemory: boolean
  readonly autoResume: boolean
}

export type SandboxPhase = SettledPhase | TransitionPhase | KillingPhase

/** A sandbox stays in one of these until something happens to it. */
export type SettledPhase = RunningPhase | PausedPhase

export interface RunningPhase {
  readonly name: 'running'
  readonly machine: Machine
  /** When it last began to run: what the longest life of the plan is counted from. */
  readonly since: number
  readonly endAt: number
  readonly cancelExpiry: () => void
  /** Aborted when the sandbox leaves this phase: open streams are cut. */
  readonly traffic: AbortController
}

export interface PausedPhase {
  readonly name: 'paused'
  readonly pausedAt: number
  readonly kept: Kept
}

/** What a paused sandbox wakes up from. */
export type Kept =
  /** Frozen processes. */
  | { readonly kind: 'memory'; readonly machine: Machine }
  /** Files alone, as the pause wanted it: waking up is a reboot. */
  | { readonly kind: 'files'; readonly image: ImageId }
  /** The files of an older state. The platform has its memory too; here the start command is run again in its place. */
  | { readonly kind: 'stored'; readonly image: ImageId }

/** On the way from one settled phase to another. */
export interface TransitionPhase {
  readonly name: 'pausing' | 'resuming' | 'snapshotting'
  /** What the sandbox was in before, and shows the times of. */
  readonly from: SettledPhase
  /** The phase it arrives in. Never rejects: what fails has a phase to fall back to. */
  readonly settled: Promise<SettledPhase>
}

/** Gone for look-ups, not yet for good. */
export interface KillingPhase {
  readonly name: 'killing'
  readonly settled: Promise<void>
}
