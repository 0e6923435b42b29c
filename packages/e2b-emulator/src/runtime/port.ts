import type { Duplex } from 'node:stream'
import type { Clock } from '../clock.ts'

/**
 * The port between the emulated platform and whatever plays the virtual machine.
 *
 * The control plane and envd know only this file; the real runtime (child processes in namespaces) and the
 * scripted runtime (answers from tables) implement it.
 */
export interface Runtime {
  readonly kind: 'real' | 'scripted' | 'unsafe-host'
  /** One sentence on what was found and chosen, for a person. */
  readonly description: string
  /** The image every `fromImage` build starts from. The name of the image is only recorded. */
  baseImage(image: string): Promise<ImageId>
  /** A machine over a writable copy of `image`; the image itself never changes. */
  createMachine(image: ImageId, options: MachineOptions): Promise<Machine>
  /** Forgets an image; files are removed once no machine and no other image needs them. */
  deleteImage(image: ImageId): Promise<void>
  /** A directory of the host that shows the image's complete file system, for inspection; undefined where there is none. */
  inspectImage(image: ImageId): Promise<MountedImage | undefined>
  /** Ends every machine and removes everything the runtime put on the host. */
  close(): Promise<void>
}

export type ImageId = string

export interface MountedImage {
  readonly directory: string
  release(): Promise<void>
}

export interface MachineOptions {
  readonly id: string
  /** Written to `/.e2b` and similar by the platform, as on the real one. */
  readonly hostname: string
  /** What the machine is made for. Absent: a sandbox. A runtime may treat build steps differently, and says so. */
  readonly purpose?: 'build' | 'sandbox'
  /** The time of the platform, for machines that have none of their own. Absent: wall time. */
  readonly clock?: Clock
}

export interface Machine {
  readonly id: string
  /** Absolute paths in commands lead into the machine. False where nothing keeps them from the host's files. */
  readonly confined: boolean
  /**
   * Rejects with {@link RuntimeError} (`user-unknown`, `directory-missing`, `command-missing`, `not-scripted`, or what the
   * system refuses with) before anything ran.
   */
  spawn(options: SpawnOptions): Promise<MachineProcess>
  readonly files: MachineFiles
  /** Freezes every process; no output is produced until {@link resume}. */
  pause(): Promise<void>
  resume(): Promise<void>
  /** The machine's file system as a new image. The machine goes on. */
  snapshot(): Promise<ImageId>
  /** Ends every process and drops the writable layer, of a machine that ended by itself too. */
  destroy(): Promise<void>
  /** Resolves when the machine has ended, on request or by itself; every call is then refused with `gone`. Never rejects. */
  readonly ended: Promise<void>
  /** Connects to a TCP port on which a process of this machine listens; rejects with `port-closed` where none does. */
  connect(port: number): Promise<Duplex>
  /** Measured now; undefined where no process runs that could be measured. Rejects with `gone` after the end. */
  usage(): Promise<MachineUsage | undefined>
}

/** What the processes of a machine take of their host. Figures are read from the kernel, none is estimated. */
export interface MachineUsage {
  /** Processor time since the machine started, in milliseconds, of processes that ended too. Never shrinks. */
  readonly cpuTimeMs: number
  /** Resident memory of all processes; what several share counts once for each. */
  readonly memoryBytes: number
  /** The file system below the root, as `df /` inside shows it: the host's, where nothing limits the machine. */
  readonly disk: { readonly usedBytes: number; readonly totalBytes: number }
}

export interface SpawnOptions {
  readonly command: string
  readonly args: readonly string[]
  /** Absent: the user's home. */
  readonly cwd?: string
  readonly user: string
  /** The complete environment beyond what a login of the user sets (HOME, USER, LOGNAME, PATH). */
  readonly env: Readonly<Record<string, string>>
  readonly stdin: boolean
  readonly pty?: { readonly cols: number; readonly rows: number }
}

export interface ProcessExit {
  /** -1 where a signal ended it. */
  readonly exitCode: number
  readonly exited: boolean
  /** As envd words it: `exit status 1`, `signal: killed`. */
  readonly status: string
}

export type ProcessOutput = { readonly stream: 'stdout' | 'stderr' | 'pty'; readonly data: Uint8Array }

export interface MachineProcess {
  readonly pid: number
  /**
   * Chunks in order. A promise the listener returns holds the reader back: no further chunk is read or delivered until
   * it settles (it never rejects), so the pipe fills and the program waits. Set before any output is lost.
   */
  onOutput(listener: (output: ProcessOutput) => void | Promise<void>): () => void
  /** Resolves once the process ended and its pipes are closed. Never rejects. */
  readonly exit: Promise<ProcessExit>
  write(data: Uint8Array): Promise<void>
  closeStdin(): Promise<void>
  resize(size: { readonly cols: number; readonly rows: number }): Promise<void>
  signal(name: 'SIGTERM' | 'SIGKILL' | 'SIGINT'): Promise<void>
}

export interface FileEntry {
  readonly name: string
  readonly path: string
  /** Of a link: of what it leads to. `other` is a device, a pipe, a socket, or a link that leads nowhere. */
  readonly type: 'file' | 'directory' | 'other'
  readonly size: number
  /** Permission bits; of a link those of what it leads to, 0 where that is nothing. */
  readonly mode: number
  readonly owner: string
  readonly group: string
  readonly modifiedAt: Date
  /** Where a link leads in the end; its own path where it leads nowhere. */
  readonly symlinkTarget?: string
  /** What {@link MachineFiles.write} was given for it, and what commands set as `user.e2b.*` attributes. */
  readonly metadata: Readonly<Record<string, string>>
}

export interface WriteOptions {
  /** Permission bits. Absent: those of the file that is replaced, or what the umask leaves. */
  readonly mode?: number
  /** Replaces all the file had. Absent: it has none. */
  readonly metadata?: Readonly<Record<string, string>>
}

/** Paths are absolute and inside the machine; symlinks are resolved inside its root, never on the host. */
export interface MachineFiles {
  stat(path: string): Promise<FileEntry>
  /** Entries lie below `path` as it was given, also where that is a link. */
  list(path: string, depth: number): Promise<FileEntry[]>
  makeDirectory(path: string, owner: string): Promise<boolean>
  /** Rejects with `failed` where {@link remove} would refuse either of the two. */
  move(from: string, to: string): Promise<FileEntry>
  /**
   * With all below it. Rejects with `failed` for the root, for directories that no machine works without, and for what
   * one of those or a mount point lies in; nothing has been removed then.
   */
  remove(path: string): Promise<void>
  read(path: string): Promise<ReadableStream<Uint8Array>>
  /** Creates parents, owned by `owner`; replaces an existing file. */
  write(path: string, content: ReadableStream<Uint8Array>, owner: string, options?: WriteOptions): Promise<FileEntry>
  /**
   * One file of several, in their order; they are gone then. Parents as in {@link write}. Rejects with `not-found` and
   * `is-directory` for sources that are no regular files, and then nothing has changed.
   */
  concatenate(sources: readonly string[], path: string, owner: string): Promise<FileEntry>
  /**
   * Merges a gzip tar into the directory `path`, made where it is missing, as root; for COPY steps. What it brings gets
   * owner (`user` or `user:group`) and mode, without a mode its own; directories that exist keep theirs.
   */
  unpack(archive: ReadableStream<Uint8Array>, path: string, options: { owner: string; mode?: number }): Promise<void>
  /** Gives a directory with all below it to a user and its group; nothing happens where it is not there. */
  own(path: string, owner: string): Promise<void>
  homeOf(user: string): Promise<string>
  /**
   * Tells what the kernel's inotify would, with names relative to `path` and `.` for itself. `onEnd` hears why a watch
   * ended that nobody stopped.
   */
  watch(
    path: string,
    recursive: boolean,
    listener: (event: { name: string; type: 'create' | 'write' | 'remove' | 'rename' | 'chmod' }) => void,
    onEnd?: (reason: RuntimeError) => void,
  ): Promise<() => void>
}

export type RuntimeErrorCode =
  | 'user-unknown'
  | 'directory-missing'
  | 'command-missing'
  | 'not-scripted'
  | 'not-found'
  | 'is-directory'
  | 'not-directory'
  | 'exists'
  | 'no-space'
  | 'port-closed'
  /** The runtime has no such ability (a terminal, for example). */
  | 'unsupported'
  /** The machine has ended, or its process has. */
  | 'gone'
  /** The host or the machine refused; the message carries the system's own words. */
  | 'failed'

export class RuntimeError extends Error {
  readonly code: RuntimeErrorCode
  constructor(code: RuntimeErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'RuntimeError'
    this.code = code
  }
}
