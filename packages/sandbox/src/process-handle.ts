import type { CommandHandle } from 'e2b'
import {
  type CommandResult,
  ProcessHandle,
  type SpawnProcessOptions,
  UnsupportedStdinCloseError,
} from '@mastra/core/workspace'
import { E2BSandboxError } from './errors.ts'
import { couldBeMemoryKill, KILLED_EXIT_CODE, type SuddenEnd } from './memory-kill.ts'
import { closeInput, killProcess, leaveProcess, type ProcessEnd, processEnd, sendInput } from './sdk.ts'

/**
 * What ended a process. `exit`: itself. `timeout`: the `timeout` option. `kill`: `kill()`. `abort`: the abort signal given
 * when it was started. `oom`: the kernel, because memory ran out. `signal`: any other signal nobody sent from here.
 */
export type ProcessEnding = 'exit' | 'timeout' | 'kill' | 'abort' | 'oom' | 'signal'

/** Result of a process, with what ended it. */
export interface E2BCommandResult extends CommandResult {
  readonly endedBy: ProcessEnding
}

/** How long to wait for the end of a killed process. What escaped with its output open can delay it without limit. */
const KILL_GRACE_MS = 2_000

/** What the command `timeout` answers. */
const TIMEOUT_EXIT_CODE = 124

export interface ProcessHandleOptions extends Pick<
  SpawnProcessOptions,
  'maxRetainedBytes' | 'onStdout' | 'onStderr' | 'timeout' | 'abortSignal'
> {
  /** `closed`: started without one. `open`: can be written and closed. `stuck`: can be written but not closed. */
  readonly stdin: 'closed' | 'open' | 'stuck'
  /** Kills what the process has started and is still there. */
  readonly killDescendants: () => Promise<void>
  /** Whether the kernel ended the process because memory ran out; never rejects. */
  readonly wasKilledForMemory: (end: SuddenEnd) => Promise<boolean>
  /** Turns an error of the SDK into a typed one. */
  readonly explain: (error: unknown, operation: string) => Promise<Error>
}

type Intent = Extract<ProcessEnding, 'timeout' | 'kill' | 'abort'>

/** A process in an E2B sandbox. Made by {@link E2BProcessManager}. */
export class E2BProcessHandle extends ProcessHandle {
  readonly #options: ProcessHandleOptions
  readonly #startedAt = performance.now()
  #process: CommandHandle | undefined
  #ended: Promise<E2BCommandResult> | undefined
  #exitCode: number | undefined
  #intent: Intent | undefined
  #killing: Promise<void> | undefined
  #graceTimer: ReturnType<typeof setTimeout> | undefined
  #callbackFailure: { readonly error: unknown } | undefined

  constructor(options: ProcessHandleOptions) {
    super(options)
    this.#options = options
  }

  /** Follows the started process. Called once, by the process manager. @internal */
  attach(process: CommandHandle): void {
    this.#process = process
    this.#ended = this.#follow(process)
    // Whoever calls wait() is told; a process nobody waits for must not end the host.
    this.#ended.catch(() => undefined)
  }

  get pid(): string {
    return String(this.#started().pid)
  }

  get exitCode(): number | undefined {
    return this.#exitCode
  }

  /**
   * Waits for the end. A non-zero exit, a timeout, a kill, an abort and a lack of memory are results, told apart by `endedBy`.
   * @throws E2BSandboxError `SANDBOX_GONE` or `CONNECTION_LOST` where the process was lost from sight
   */
  override async wait(): Promise<E2BCommandResult> {
    this.#started()
    if (this.#ended === undefined) throw notStarted()
    const result = await this.#ended
    if (this.#callbackFailure !== undefined) throw this.#callbackFailure.error
    return result
  }

  /** Sends SIGKILL to the process and to everything it has started. False where it had ended already. */
  async kill(): Promise<boolean> {
    return this.#kill(this.#options.abortSignal?.aborted === true ? 'abort' : 'kill')
  }

  /** @throws E2BSandboxError `STDIN_CLOSED`, or `PROCESS_ENDED` */
  async sendStdin(data: string): Promise<void> {
    const process = this.#withInput()
    try {
      await sendInput(process, data)
    } catch (error) {
      throw await this.#options.explain(error, 'Writing to stdin')
    }
  }

  /** @throws E2BSandboxError `STDIN_CLOSED`, or `PROCESS_ENDED`; UnsupportedStdinCloseError in an old sandbox */
  override async closeStdin(): Promise<void> {
    const process = this.#withInput()
    if (this.#options.stdin === 'stuck') {
      throw new UnsupportedStdinCloseError('The template is too old to close stdin: build it again')
    }
    try {
      await closeInput(process)
    } catch (error) {
      throw await this.#options.explain(error, 'Closing stdin')
    }
  }

  /** A listener that throws does not stop the output; `wait` rejects with its error in the end. @internal */
  override emitStdout(data: string): void {
    this.#guarded(() => super.emitStdout(data))
  }

  /** @internal */
  override emitStderr(data: string): void {
    this.#guarded(() => super.emitStderr(data))
  }

  #guarded(emit: () => void): void {
    try {
      emit()
    } catch (error) {
      this.#callbackFailure ??= { error }
    }
  }

  async #follow(process: CommandHandle): Promise<E2BCommandResult> {
    const timer = this.#startTimer()
    try {
      const end = await processEnd(process)
      clearTimeout(timer)
      // Whoever is told of the end may rely on it that nothing of the process runs any more.
      await this.#killing
      return this.#result(end, this.#intent ?? (await this.#ownEnding(process, end)))
    } catch (error) {
      await this.#killing
      // After a kill the stream may be cut before the end was reported.
      if (this.#intent !== undefined) return this.#result({ exitCode: KILLED_EXIT_CODE }, this.#intent)
      throw await this.#options.explain(error, 'Following a process')
    } finally {
      clearTimeout(timer)
      clearTimeout(this.#graceTimer)
    }
  }

  #startTimer(): ReturnType<typeof setTimeout> | undefined {
    const { timeout } = this.#options
    if (timeout === undefined || timeout === 0) return undefined
    return setTimeout(() => {
      // Without an answer the grace timer still ends the wait, and the sandbox itself enforces a limit.
      this.#kill('timeout').catch(() => undefined)
    }, timeout)
  }

  async #kill(intent: Intent): Promise<boolean> {
    const process = this.#started()
    if (this.#exitCode !== undefined) return false
    this.#intent ??= intent
    this.#graceTimer ??= setTimeout(() => {
      // Only stops listening, which cannot fail in a way that matters: the result is decided by the intent.
      leaveProcess(process).catch(() => undefined)
    }, KILL_GRACE_MS)
    try {
      const killing = this.#killAll(process)
      // Its failure is told here; `#follow` only waits for its end.
      this.#killing = killing.then(ignore, ignore)
      const killed = await killing
      if (!killed && this.#intent === intent) this.#intent = undefined
      return killed
    } catch (error) {
      throw await this.#options.explain(error, 'Killing a process')
    }
  }

  async #killAll(process: CommandHandle): Promise<boolean> {
    const killed = await killProcess(process)
    // The process itself was killed, which is what is answered. A sandbox that dies meanwhile takes the rest along.
    if (killed) await this.#options.killDescendants().catch(ignore)
    return killed
  }

  /** Of a process that nobody ended from here. */
  async #ownEnding({ pid }: CommandHandle, { exitCode }: ProcessEnd): Promise<Exclude<ProcessEnding, Intent>> {
    const livedMs = performance.now() - this.#startedAt
    if (couldBeMemoryKill({ exitCode }) && (await this.#options.wasKilledForMemory({ pid, exitCode, livedMs }))) {
      return 'oom'
    }
    return exitCode < 0 ? 'signal' : 'exit'
  }

  #result(end: ProcessEnd, endedBy: ProcessEnding): E2BCommandResult {
    const exitCode = exitCodeOf(endedBy, end)
    this.#exitCode = exitCode
    return {
      success: exitCode === 0,
      exitCode,
      stdout: this.stdout,
      stderr: this.stderr,
      executionTimeMs: Math.round(performance.now() - this.#startedAt),
      timedOut: endedBy === 'timeout',
      killed: endedBy !== 'exit',
      endedBy,
    }
  }

  #withInput(): CommandHandle {
    const process = this.#started()
    if (this.#exitCode !== undefined) {
      throw new E2BSandboxError({
        code: 'PROCESS_ENDED',
        message: `Process ${this.pid} has ended with exit code ${this.#exitCode}`,
      })
    }
    if (this.#options.stdin === 'closed') {
      throw new E2BSandboxError({
        code: 'STDIN_CLOSED',
        message: `Process ${this.pid} was started without stdin`,
        hint: `Start it with stdinMode: 'pipe'`,
      })
    }
    return process
  }

  #started(): CommandHandle {
    if (this.#process === undefined) throw notStarted()
    return this.#process
  }
}

const ignore = (): void => undefined

const notStarted = (): E2BSandboxError =>
  new E2BSandboxError({ code: 'NOT_STARTED', message: 'The process was not started' })

function exitCodeOf(endedBy: ProcessEnding, end: ProcessEnd): number {
  switch (endedBy) {
    case 'timeout':
      return TIMEOUT_EXIT_CODE
    case 'kill':
    case 'abort':
    case 'oom':
      return KILLED_EXIT_CODE
    case 'exit':
    case 'signal':
      return end.exitCode
    default:
      return endedBy satisfies never
  }
}
