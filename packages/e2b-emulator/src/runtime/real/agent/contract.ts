import type { FileEntry, MachineUsage, RuntimeErrorCode } from '../../port.ts'
import type { Mark } from './marked.ts'

/** What the host asks of the program inside a machine: parameters and result of each call. Types only. */
export interface AgentCalls {
  spawn: { parameters: SpawnParameters; result: { readonly pid: number } }
  /** Answers, with or without a root. */
  ping: { parameters: null; result: null }
  /** Gets ready for the first commands. */
  prepare: { parameters: null; result: null }
  signal: { parameters: { readonly pid: number; readonly name: AgentSignal }; result: null }
  resize: { parameters: { readonly pid: number; readonly size: TerminalSize }; result: null }
  freeze: { parameters: null; result: null }
  thaw: { parameters: null; result: null }
  stat: { parameters: { readonly path: string }; result: AgentFileEntry }
  list: { parameters: { readonly path: string; readonly depth: number }; result: readonly AgentFileEntry[] }
  makeDirectory: { parameters: { readonly path: string; readonly owner: string }; result: boolean }
  move: { parameters: { readonly from: string; readonly to: string }; result: AgentFileEntry }
  remove: { parameters: { readonly path: string }; result: null }
  own: { parameters: { readonly path: string; readonly owner: string }; result: null }
  homeOf: { parameters: { readonly user: string }; result: string }
  read: { parameters: { readonly path: string }; result: null }
  write: {
    parameters: {
      readonly path: string
      readonly owner: string
      readonly mode: number | null
      readonly metadata: Readonly<Record<string, string>>
    }
    result: AgentFileEntry
  }
  concatenate: {
    parameters: { readonly sources: readonly string[]; readonly path: string; readonly owner: string }
    result: AgentFileEntry
  }
  unpack: {
    parameters: { readonly path: string; readonly owner: string; readonly mode: number | null }
    result: null
  }
  /** Where a connection from outside reaches a process of the machine that listens on the port; null where none does. */
  listener: { parameters: { readonly port: number }; result: LoopbackAddress | null }
  usage: { parameters: null; result: MachineUsage }
  watch: { parameters: { readonly path: string; readonly recursive: boolean }; result: null }
}

export type LoopbackAddress = '127.0.0.1' | '::1'

export type AgentMethod = keyof AgentCalls

export type AgentSignal = 'SIGTERM' | 'SIGKILL' | 'SIGINT'

export interface AgentRequest {
  readonly method: AgentMethod
  readonly parameters: never
}

export interface SpawnParameters {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string | null
  readonly user: string
  readonly env: Readonly<Record<string, string>>
  readonly stdin: boolean
  /** A terminal of this size in place of the three pipes. */
  readonly terminal: TerminalSize | null
}

export interface TerminalSize {
  readonly cols: number
  readonly rows: number
}

/** {@link FileEntry} in JSON. */
export interface AgentFileEntry extends Omit<FileEntry, 'modifiedAt' | 'symlinkTarget'> {
  readonly modifiedMs: number
  readonly symlinkTarget: string | null
}

export type WatchEventType = 'create' | 'write' | 'remove' | 'rename' | 'chmod'

/** Sent as `event` frames of a call. */
export type AgentEvent =
  | { readonly type: 'exit'; readonly code: number | null; readonly signal: string | null }
  | { readonly type: 'input-closed' }
  | { readonly type: 'failed'; readonly failure: AgentFailure }
  | { readonly type: 'change'; readonly name: string; readonly change: WatchEventType }

/** Why a call failed: by itself, or as the system refused it (`ENOTDIR`) and what was attempted (`stat /a/b`). */
export type AgentFailure =
  | { readonly code: RuntimeErrorCode; readonly message: string }
  | { readonly system: string; readonly attempt: string }

export type AgentReply =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly failure: AgentFailure }

/** How the machine was set up, as far as the program must know. */
export interface AgentSettings {
  /** One uid stands for every user (an unprivileged host maps only one). */
  readonly singleUser: boolean
  readonly path: string
  /** Where the machine's files lie for this program, without a slash at its end; empty where its root is theirs. */
  readonly root: string
  /** Directories of the machine that are never removed or moved, nor what they lie in, nor mount points. */
  readonly kept: readonly string[]
  /** A directory for named pipes, outside of what an image holds. */
  readonly scratch: string
  /** How the machine's processes are told from others; null where it sees no others. */
  readonly mark: Mark | null
  /** What every command gets unless it is given another. */
  readonly defaults: Readonly<Record<string, string>>
  /** What every command gets whatever it is given. */
  readonly fixed: Readonly<Record<string, string>>
}

/** One call being served. Frames of the host that belong to it arrive at {@link onFrame}, those before it is set are kept. */
export interface ServedCall {
  send(kind: 'data' | 'standard-error' | 'end', payload?: Uint8Array): void
  event(event: AgentEvent): void
  credit(bytes: number): void
  receive(handlers: ReceiveHandlers): void
}

export interface ReceiveHandlers {
  data?(payload: Buffer): void
  end?(): void
  credit?(bytes: number): void
  cancel?(): void
}
