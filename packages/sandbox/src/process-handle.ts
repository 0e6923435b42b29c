import type { CommandHandle } from 'e2b'
import { ProcessHandle, type SpawnProcessOptions, UnsupportedStdinCloseError } from '@mastra/core/workspace'
import { E2BSandboxError } from './errors.ts'
import { couldBeMemoryKill, KILLED_EXIT_CODE, type SuddenEnd } from './memory-kill.ts'
import { type E2BCommandResult, exitCodeOf, type Intent, type ProcessEnding } from './process-result.ts'
import { errorCode } from './sdk-errors.ts'
import { closeInput, killProcess, leaveProcess, type ProcessEnd, processEnd, sendInput } from './sdk.ts'

/** How long to wait for the end of a killed process. What escaped with its output open can delay it without limit. */
const KILL_GRACE_MS = 2_000

export interface ProcessHandleOptions extends Pick<
  SpawnProcessOptions,
  'maxRetainedBytes' | 'onStdout' | 'onStderr' | 'timeout' | 'abortSignal'
> {
  /** `closed`: started without one. `open`: can be written and closed. `stuck`: can be written but not closed. */
  readonly stdin: 'closed' | 'open' | 'stuck'
  /** Kills what the process has started and is still there, before the process itself is killed. */
  readonly killDescendants: (pid: number) => Promise<void>
  /** Kills a process that nobody has watched for a while, by its id and only if it is the same one; and what it has started. */
  readonly killUnwatched: (pid: number) => Promise<boolean>
  /** Whether the kernel ended the process because memory ran out; never rejects. */
  readonly wasKilledForMemory: (end: SuddenEnd) => Promise<boolean>
  /** Turns an error of the SDK into a typed one. */
  readonly explain: (error: unknown, operation: string) => Promise<unknown>
}

/** A process in an E2B sandbox. Made by {@link E2BProcessManager}. */
export class E2BProcessHandle extends ProcessHandle {
  readonly #options: ProcessHandleOptions
  readonly #startedAt = performance.now()
  #process: CommandHandle | undefined
  #ended: Promise<E2BCommandResult> | undefined
  #exitCode: number | undefined
  #intent: Intent | undefined
  #killing: Promise<boolean> | undefined
  #wasKilled = false
  #inputIsClosed = false
  #timeoutTimer: ReturnType<typeof setTimeout> | undefined
  /** Set once the stream broke; aborted, nothing here waits for a reason to end the process any more. */
  #unwatched: AbortController | undefined
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

  /** Whether the process was lost from sight. It may run on, and another handle can follow it. @internal */
  get isLost(): boolean {
    return this.#unwatched !== undefined && this.#exitCode === undefined
  }

  /**
   * Waits for the end. A non-zero exit, a timeout, a kill, an abort and a lack of memory are results, told apart by `endedBy`.
   * @throws E2BSandboxError `SANDBOX_GONE` or `CONNECTION_LOST` where the process was lost from sight. The timeout and the
   * abort signal then still end it where it can be reached.
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
    if (this.#inputIsClosed) return
    const process = this.#withInput()
    if (this.#options.stdin === 'stuck') {
      throw new UnsupportedStdinCloseError('The template is too old to close stdin: build it again')
    }
    try {
      await closeInput(process)
      this.#inputIsClosed = true
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
    this.#startTimer()
    const end = await processEnd(process).catch((error: unknown) => cutError(error, process.pid))
    const isCut = end instanceof E2BSandboxError
    if (!isCut) clearTimeout(this.#timeoutTimer)
    // Whoever is told of the end may rely on it that nothing of the process runs any more.
    await this.#killing?.catch(ignore)
    clearTimeout(this.#graceTimer)
    if (!isCut) return this.#result(end, this.#intent ?? (await this.#ownEnding(process, end)))
    // After a kill the stream may be cut before the end was reported.
    const intent = this.#intent ?? (await this.#loseSight(end))
    clearTimeout(this.#timeoutTimer)
    return this.#result({ exitCode: KILLED_EXIT_CODE }, intent)
  }

  /**
   * The process may run on, and the timeout and the abort signal end it then.
   * @returns what has ended it while E2B was asked
   * @throws E2BSandboxError `SANDBOX_GONE` or `CONNECTION_LOST`
   */
  async #loseSight(cut: E2BSandboxError): Promise<Intent> {
    this.#unwatched = new AbortController()
    const failure = await this.#options.explain(cut, 'Following a process')
    await this.#killing?.catch(ignore)
    if (this.#intent !== undefined) return this.#intent
    if (errorCode(failure) === 'CONNECTION_LOST') this.#stayInReach(this.#unwatched.signal)
    else clearTimeout(this.#timeoutTimer)
    throw failure
  }

  /** Nobody is left to tell, and the host need not stay for it. */
  #stayInReach(until: AbortSignal): void {
    this.#timeoutTimer?.unref()
    const onAbort = (): void => {
      this.#kill('abort').catch(ignore)
    }
    this.#options.abortSignal?.addEventListener('abort', onAbort, { once: true, signal: until })
  }

  #startTimer(): void {
    const { timeout } = this.#options
    if (timeout === undefined || timeout === 0) return
    this.#timeoutTimer = setTimeout(() => {
      // Without an answer the grace timer still ends the wait, and the sandbox itself enforces a limit.
      this.#kill('timeout').catch(ignore)
    }, timeout)
  }

  /** Calls of one moment are one kill. */
  async #kill(intent: Intent): Promise<boolean> {
    const process = this.#started()
    if (this.#exitCode !== undefined) return false
    this.#killing ??= this.#tryKill(process, intent).finally(() => {
      this.#killing = undefined
    })
    try {
      return await this.#killing
    } catch (error) {
      throw await this.#options.explain(error, 'Killing a process')
    }
  }

  async #tryKill(process: CommandHandle, intent: Intent): Promise<boolean> {
    if (this.#unwatched !== undefined) {
      const killed = await this.#options.killUnwatched(process.pid)
      if (killed) this.#intent ??= intent
      this.#unwatched.abort()
      clearTimeout(this.#timeoutTimer)
      return killed
    }
    this.#intent ??= intent
    this.#graceTimer ??= setTimeout(() => {
      // Only stops listening, which cannot fail in a way that matters: the result is decided by the intent.
      leaveProcess(process).catch(ignore)
    }, KILL_GRACE_MS)
    // Whether the process itself was killed is what is answered. A sandbox that dies meanwhile takes the rest along.
    await this.#options.killDescendants(process.pid).catch(ignore)
    const killed = await killProcess(process)
    this.#wasKilled ||= killed
    if (!this.#wasKilled) this.#intent = undefined
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
    if (this.#inputIsClosed) {
      throw new E2BSandboxError({
        code: 'STDIN_CLOSED',
        message: `The stdin of process ${this.pid} was closed`,
        hint: 'Send everything before closeStdin()',
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

/** It had begun, so whatever broke the stream, running it once more may be once too often. */
const cutError = (cause: unknown, pid: number): E2BSandboxError =>
  new E2BSandboxError({
    code: 'CONNECTION_LOST',
    message: `The connection to process ${pid} broke`,
    hint: `It may still run, and must not be run again unseen: processes.get('${pid}') follows it while it does`,
    cause,
  })

const notStarted = (): E2BSandboxError =>
  new E2BSandboxError({ code: 'NOT_STARTED', message: 'The process was not started' })
