import type { Duplex } from 'node:stream'
import type { Clock } from '../../clock.ts'
import type { ScriptedFiles } from './machine-files.ts'

/** What a scripted command sees of the process it plays. */
export interface ScriptedCall {
  /** The text given to `bash -c`, or the command and its arguments joined by spaces. */
  readonly text: string
  readonly cwd: string
  readonly user: string
  readonly env: Readonly<Record<string, string>>
  readonly files: ScriptedFiles
  /** The emulator's: an answer that takes time waits by it, and a test decides how long that is. */
  readonly clock: Clock
  /** Chunks the caller writes; ends when the caller closes stdin. */
  readonly stdin: AsyncIterable<Uint8Array>
  /** Aborted by any signal sent to the process. */
  readonly signal: AbortSignal
  readonly stdout: (text: string) => void
  readonly stderr: (text: string) => void
}

export interface ScriptedResult {
  /** Default: nothing. */
  readonly stdout?: string
  /** Default: nothing. */
  readonly stderr?: string
  /** Default: 0. */
  readonly exitCode?: number
}

/** One row of the table: a command text, and what running it answers. The first row that matches is taken. */
export interface ScriptedCommand {
  /** The whole command text, or a pattern to be found in it. */
  readonly match: string | RegExp
  readonly answer: ScriptedResult | ((call: ScriptedCall) => ScriptedResult | Promise<ScriptedResult>)
}

/** One row of the table of ports: who listens there, in every sandbox. */
export type ScriptedPort =
  /** A service that speaks HTTP. */
  | { readonly port: number; readonly answer: (request: Request) => Response | Promise<Response> }
  /** A service of any kind, which gets the bare connection. */
  | { readonly port: number; readonly accept: (connection: Duplex) => void }

export interface ScriptedRuntimeOptions {
  /** The table of commands, asked in order before the few builtins. Default: empty. */
  readonly commands?: readonly ScriptedCommand[]
  /** Ports on which every sandbox listens. Default: none. */
  readonly ports?: readonly ScriptedPort[]
  /**
   * What a RUN step without a row does. Default `succeed`: it exits 0 and changes nothing, so that templates build
   * without a row per step. In a sandbox a command without a row is always refused.
   */
  readonly unscriptedBuildSteps?: 'succeed' | 'refuse'
  /** Where file times come from. Default: the system's clock. */
  readonly now?: () => Date
}
