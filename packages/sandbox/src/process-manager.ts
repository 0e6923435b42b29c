import type { ProcessInfo as SdkProcessInfo, Sandbox } from 'e2b'
import { type ProcessInfo, SandboxProcessManager, type SpawnProcessOptions } from '@mastra/core/workspace'
import { assertCommand, assertSpawnOptions, commandEnvironment, enforcedLimit } from './command-options.ts'
import { abortedError, E2BSandboxError } from './errors.ts'
import { wasKilledForMemory } from './memory-kill.ts'
import { E2BProcessHandle, type ProcessHandleOptions } from './process-handle.ts'
import { createRunId, killDescendants, RUN_ID_VARIABLE } from './process-tree.ts'
import type { E2BSandbox } from './sandbox.ts'
import { errorCode } from './sdk-errors.ts'
import { canCloseStdin, connectProcess, killPid, listProcesses, startProcess } from './sdk.ts'

/**
 * Processes of an E2B sandbox. E2B keeps them; so `list` and `get` also know those another process of the host
 * started.
 */
export class E2BProcessManager extends SandboxProcessManager<E2BSandbox> {
  /**
   * Starts a command in a login shell and resolves as soon as it runs. Without `timeout` it runs without limit.
   * @throws E2BSandboxError `ABORTED` for a signal that has fired already, `BAD_REQUEST` for a directory that does not
   * exist, `INVALID_OPTION` for an option that is malformed or unknown, `ARGUMENT_TOO_LONG`
   */
  override async spawn(command: string, options: SpawnProcessOptions = {}): Promise<E2BProcessHandle> {
    assertCommand(command)
    assertSpawnOptions(options)
    if (options.abortSignal?.aborted) throw abortedError('Starting a command', options.abortSignal.reason)
    const handle = await this.sandbox.retryOnDead(() => this.#start(command, options))
    this._tracked.set(handle.pid, handle)
    return handle
  }

  /** Everything that runs in the sandbox, and processes started here that have ended and were not released. */
  override async list(): Promise<ProcessInfo[]> {
    const running = await this.sandbox.retryOnDead(() => listProcesses(this.sandbox.e2b), { repeatable: true })
    const pids = new Set(running.map(({ pid }) => String(pid)))
    const ended = [...this._tracked.values()].filter(({ pid, exitCode }) => exitCode !== undefined && !pids.has(pid))
    return [
      ...running.map((info) => ({ pid: String(info.pid), command: commandOf(info), running: true })),
      ...ended.map(({ pid, command, exitCode }) => ({
        pid,
        running: false,
        ...(command === undefined ? {} : { command }),
        ...(exitCode === undefined ? {} : { exitCode }),
      })),
    ]
  }

  /**
   * Handle of a process, also of one started elsewhere or lost from sight: its output then begins now.
   * @returns undefined where no such process runs
   */
  override async get(pid: string): Promise<E2BProcessHandle | undefined> {
    const tracked = this._tracked.get(pid)
    if (tracked instanceof E2BProcessHandle && !tracked.isLost) return tracked
    if (!/^[1-9]\d*$/.test(pid)) return undefined
    const handle = await this.sandbox.retryOnDead(() => this.#connect(Number(pid)), { repeatable: true })
    if (handle !== undefined) this._tracked.set(pid, handle)
    return handle
  }

  /** A process that was lost from sight may still run, and is not forgotten. @internal */
  override release(pid: string): void {
    const tracked = this._tracked.get(pid)
    if (tracked instanceof E2BProcessHandle && tracked.isLost) this._tracked.delete(pid)
    else super.release(pid)
  }

  /** Process ids mean nothing in another sandbox. @internal */
  forgetAll(): void {
    this._tracked.clear()
    this._dismissed.clear()
  }

  async #start(command: string, options: SpawnProcessOptions): Promise<E2BProcessHandle> {
    const { cwd } = options
    const fallbackCwd = this.sandbox.workingDirectory
    try {
      return await this.#startIn(cwd ?? fallbackCwd, command, options)
    } catch (error) {
      // The default directory may be what the command is about to make, such as a checkout. E2B refused the start for
      // it, so nothing ran yet.
      if (errorCode(error) !== 'BAD_REQUEST') throw error
      if (cwd === undefined && fallbackCwd !== undefined) return this.#startIn(undefined, command, options)
      throw cwd === undefined ? error : directoryError(cwd, error)
    }
  }

  async #startIn(cwd: string | undefined, command: string, options: SpawnProcessOptions): Promise<E2BProcessHandle> {
    const { e2b } = this.sandbox
    const withInput = options.stdinMode !== 'ignore'
    const runId = createRunId()
    const handle = new E2BProcessHandle({
      ...options,
      killDescendants: (pid) => killDescendants(e2b, runId, pid),
      killUnwatched: (pid) => killRun(e2b, pid, runId),
      wasKilledForMemory: (end) => wasKilledForMemory(e2b, end),
      stdin: !withInput ? 'closed' : canCloseStdin(e2b) ? 'open' : 'stuck',
      explain: this.#explainer(e2b),
    })
    const process = await startProcess(e2b, command, {
      cwd,
      envs: { ...commandEnvironment({ ...this.env, ...options.env }), [RUN_ID_VARIABLE]: runId },
      stdin: withInput,
      limitMs: enforcedLimit(options.timeout),
      onStdout: (data) => handle.emitStdout(data),
      onStderr: (data) => handle.emitStderr(data),
    })
    handle.attach(process)
    return handle
  }

  async #connect(pid: number): Promise<E2BProcessHandle | undefined> {
    const { e2b } = this.sandbox
    const info = (await listProcesses(e2b)).find((process) => process.pid === pid)
    if (info === undefined) return undefined
    const runId = info.envs[RUN_ID_VARIABLE]
    const handle = new E2BProcessHandle({
      killDescendants: () => (runId === undefined ? Promise.resolve() : killDescendants(e2b, runId, pid)),
      killUnwatched: () => killRun(e2b, pid, runId),
      wasKilledForMemory: (end) => wasKilledForMemory(e2b, end),
      stdin: canCloseStdin(e2b) ? 'open' : 'stuck',
      explain: this.#explainer(e2b),
    })
    try {
      const process = await connectProcess(e2b, pid, {
        onStdout: (data) => handle.emitStdout(data),
        onStderr: (data) => handle.emitStderr(data),
      })
      handle.command = commandOf(info)
      handle.attach(process)
      return handle
    } catch (error) {
      if (errorCode(error) === 'NOT_FOUND') return undefined
      throw error
    }
  }

  #explainer(e2b: Sandbox): ProcessHandleOptions['explain'] {
    return (error, operation) => this.sandbox.explain(error, operation, e2b)
  }
}

/** Kills a run by its process, unless another one goes by the id now, and by its mark. */
async function killRun(e2b: Sandbox, pid: number, runId: string | undefined): Promise<boolean> {
  const running = await listProcesses(e2b)
  const isSame = running.some((process) => process.pid === pid && process.envs[RUN_ID_VARIABLE] === runId)
  if (!isSame) return false
  if (runId !== undefined) await killDescendants(e2b, runId, pid)
  return killPid(e2b, pid)
}

const directoryError = (cwd: string, cause: unknown): E2BSandboxError =>
  new E2BSandboxError({
    code: 'BAD_REQUEST',
    message: `The command could not be started in ${cwd}`,
    hint: 'Look whether the directory exists; make it first, or leave cwd out',
    cause,
  })

/** The SDK runs commands as `/bin/bash -l -c <command>`; anything else is shown as it is. */
function commandOf({ cmd, args }: SdkProcessInfo): string {
  const [login, flag, script] = args
  return cmd === '/bin/bash' && login === '-l' && flag === '-c' && script !== undefined
    ? script
    : [cmd, ...args].join(' ')
}
