import {
  type CommandHandle,
  type ConnectionOpts,
  type ProcessInfo,
  Sandbox,
  type SandboxConnectOpts,
  type SandboxInfo,
  type SandboxOpts,
} from 'e2b'
import type { Redactor } from '@warmbox/resolution'
import { translateError } from './sdk-errors.ts'

/** The calls of E2B's control plane this package makes. Everything they throw is typed and redacted. */
export interface SandboxApi {
  /** All sandboxes with this metadata, running and paused, every page. */
  list(metadata: Record<string, string>, signal?: AbortSignal): Promise<readonly SandboxInfo[]>
  info(sandboxId: string, signal?: AbortSignal): Promise<SandboxInfo>
  /** False where it was paused, or on its way there, already. */
  pause(sandboxId: string): Promise<boolean>
  /** False where it did not exist. */
  kill(sandboxId: string): Promise<boolean>
}

/** @param connection what the SDK needs to know the endpoint and the account */
export function createSandboxApi(connection: ConnectionOpts, redactor: Redactor): SandboxApi {
  const call = async <T>(operation: string, request: () => Promise<T>): Promise<T> => {
    try {
      return await request()
    } catch (error) {
      throw redactor.error(translateError(error, operation))
    }
  }
  const withSignal = (signal: AbortSignal | undefined): ConnectionOpts =>
    signal === undefined ? connection : { ...connection, signal }

  return {
    list: (metadata, signal) =>
      call('Looking up sandboxes', async () => {
        const pages = Sandbox.list({ ...connection, query: { metadata, state: ['running', 'paused'] } })
        const found: SandboxInfo[] = []
        while (pages.hasNext) found.push(...(await pages.nextItems(withSignal(signal))))
        return found
      }),
    info: (sandboxId, signal) =>
      call(`Looking up sandbox ${sandboxId}`, () => Sandbox.getInfo(sandboxId, withSignal(signal))),
    pause: (sandboxId) => call(`Pausing sandbox ${sandboxId}`, () => Sandbox.pause(sandboxId, connection)),
    kill: (sandboxId) => call(`Killing sandbox ${sandboxId}`, () => Sandbox.kill(sandboxId, connection)),
  }
}

/** Creates a sandbox; rejects with the SDK's own errors, as an override in a subclass would. */
export const createSdkSandbox = (template: string, options: SandboxOpts): Promise<Sandbox> =>
  Sandbox.create(template, options)

/** Connects to a sandbox and resumes it where it is paused; rejects with the SDK's own errors. */
export const connectSdkSandbox = (sandboxId: string, options: SandboxConnectOpts): Promise<Sandbox> =>
  Sandbox.connect(sandboxId, options)

/** Public host name of a port, without scheme. No request. */
export const portHost = (sandbox: Sandbox, port: number): string => sandbox.getHost(port)

export interface StartProcessOptions {
  readonly cwd: string | undefined
  readonly envs: Record<string, string>
  readonly stdin: boolean
  /** Limit after which the sandbox itself kills the process, in milliseconds; 0 is none. */
  readonly limitMs: number
  readonly onStdout: (data: string) => void
  readonly onStderr: (data: string) => void
}

/** Starts `command` in a login shell. Resolves as soon as it runs; rejects with the SDK's own errors. */
export const startProcess = (sandbox: Sandbox, command: string, options: StartProcessOptions): Promise<CommandHandle> =>
  sandbox.commands.run(command, {
    background: true,
    envs: options.envs,
    stdin: options.stdin,
    // The SDK's own default would end a background process after 60 seconds.
    timeoutMs: options.limitMs,
    onStdout: options.onStdout,
    onStderr: options.onStderr,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  })

/** Follows a running process from now on; earlier output is not repeated. */
export const connectProcess = (
  sandbox: Sandbox,
  pid: number,
  output: Pick<StartProcessOptions, 'onStdout' | 'onStderr'>,
): Promise<CommandHandle> => sandbox.commands.connect(pid, { ...output, timeoutMs: 0 })

export const listProcesses = (sandbox: Sandbox): Promise<ProcessInfo[]> => sandbox.commands.list()

/** Whether the daemon in the sandbox can close a process's stdin; templates built long ago cannot. */
export const canCloseStdin = (sandbox: Sandbox): boolean => sandbox.commands.supportsStdinClose

export interface ProcessEnd {
  /** As the daemon reports it: -1 where a signal ended the process. */
  readonly exitCode: number
}

/** Waits for a process. A non-zero exit is a result; rejects with the SDK's own errors where the stream broke. */
export async function processEnd(process: CommandHandle): Promise<ProcessEnd> {
  try {
    return { exitCode: (await process.wait()).exitCode }
  } catch (error) {
    const isExit = error instanceof Error && error.name === 'CommandExitError'
    if (isExit && 'exitCode' in error && typeof error.exitCode === 'number') return { exitCode: error.exitCode }
    throw error
  }
}

export interface FileUpload {
  readonly path: string
  readonly data: string | ArrayBuffer
}

/** Writes files, making their directories; rejects with the SDK's own errors. */
export async function uploadFiles(
  sandbox: Sandbox,
  files: readonly FileUpload[],
  signal: AbortSignal | undefined,
): Promise<void> {
  await sandbox.files.write(
    files.map(({ path, data }) => ({ path, data })),
    signal === undefined ? {} : { signal },
  )
}

/** Sends SIGKILL. False where the process had ended already. */
export const killProcess = (process: CommandHandle): Promise<boolean> => process.kill()

export const sendInput = (process: CommandHandle, data: string): Promise<void> => process.sendStdin(data)

export const closeInput = (process: CommandHandle): Promise<void> => process.closeStdin()

/** Stops following a process. It runs on. */
export const leaveProcess = (process: CommandHandle): Promise<void> => process.disconnect()
