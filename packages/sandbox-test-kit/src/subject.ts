import type {
  SandboxLifecycleHook,
  SandboxStartHook,
  WorkspaceFilesystem,
  WorkspaceSandbox,
} from '@mastra/core/workspace'
import type { SandboxCapabilities } from './capabilities.ts'

/** What a test asks a sandbox to be made with; an absent option leaves the provider's default. */
export interface SandboxRequest {
  /** Logical id. Two sandboxes of one id stand for two processes of a host: the provider must not share state between them. */
  readonly id: string
  readonly env?: Record<string, string>
  /** Absolute path, from {@link SandboxSubject.directory}. */
  readonly workingDirectory?: string
  readonly onStart?: SandboxStartHook
  readonly onDestroy?: SandboxLifecycleHook
  /** Name of a checkpoint to boot from and to write to. */
  readonly checkpointName?: string
}

/** How mounts are tried. */
export interface MountSubject {
  /** Brings a started sandbox into a state where mounting can work, such as by installing programs. Default: nothing. */
  readonly prepare?: (sandbox: WorkspaceSandbox) => Promise<void>
  /** A file system that can be mounted, holding `hello.txt` with the text `hello` where `mount-content` is declared. */
  readonly filesystem: () => Promise<WorkspaceFilesystem> | WorkspaceFilesystem
  /** A file system whose mount fails. */
  readonly broken: () => Promise<WorkspaceFilesystem> | WorkspaceFilesystem
  /** Path to mount at. */
  readonly path: string
}

/** A provider under test. */
export interface SandboxSubject {
  /** Name of the outermost group. */
  readonly name: string
  readonly capabilities: SandboxCapabilities
  /** Makes a sandbox and does not start it. */
  readonly createSandbox: (request: SandboxRequest) => WorkspaceSandbox
  /** An absolute path in the sandbox of an id under which the commands of a test may make directories. */
  readonly directory: (id: string) => string
  /** Needed where `mount` is declared. */
  readonly mounts?: MountSubject
}
