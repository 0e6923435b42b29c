import {
  type CommandHandle,
  ConnectionConfig,
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
  /** Takes a snapshot of a running sandbox under a name; one of that name is replaced. */
  snapshot(sandboxId: string, name: string): Promise<void>
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
        // A server that knew nothing of the filter would have us resume, or kill, what is not ours.
        const wanted = Object.entries(metadata)
        return found.filter((info) => wanted.every(([key, value]) => info.metadata[key] === value))
      }),
    info: (sandboxId, signal) =>
      call(`Looking up sandbox ${sandboxId}`, () => Sandbox.getInfo(sandboxId, withSignal(signal))),
    pause: (sandboxId) => call(`Pausing sandbox ${sandboxId}`, () => Sandbox.pause(sandboxId, connection)),
    kill: (sandboxId) => call(`Killing sandbox ${sandboxId}`, () => Sandbox.kill(sandboxId, connection)),
    snapshot: (sandboxId, name) =>
      call(`Taking a snapshot of sandbox ${sandboxId}`, async () => {
        await Sandbox.createSnapshot(sandboxId, { ...connection, name })
      }),
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

/** The same of a sandbox nobody is connected to. */
export function detachedPortHost(connection: ConnectionOpts, sandboxId: string, port: number): string {
  const config = new ConnectionConfig(connection)
  return config.getHost(sandboxId, port, config.domain)
}

/** Where sandboxes are reached that no domain leads to; undefined for those of E2B's cloud. No request. */
export function directUrl(connection: ConnectionOpts): string | undefined {
  const { apiUrl, sandboxUrl } = new ConnectionConfig(connection)
  return sandboxUrl ?? apiUrl
}

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
export const startProcess = async (
  sandbox: Sandbox,
  command: string,
  options: StartProcessOptions,
): Promise<CommandHandle> =>
  withoutHistory(
    await sandbox.commands.run(command, {
      background: true,
      envs: options.envs,
      stdin: options.stdin,
      // The SDK's own default would end a background process after 60 seconds.
      timeoutMs: options.limitMs,
      onStdout: options.onStdout,
      onStderr: options.onStderr,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    }),
  )

const discard = (): void => undefined

/**
 * The SDK keeps the whole output of a process, although it has handed it on and nobody here reads it there: a server
 * that logs for days would fill the memory of its host. A release of the SDK that keeps it elsewhere loses nothing by it.
 */
function withoutHistory(process: CommandHandle): CommandHandle {
  for (const field of ['_stdout', '_stderr']) {
    Object.defineProperty(process, field, { get: () => '', set: discard })
  }
  return process
}

/** Follows a running process from now on; earlier output is not repeated. */
export const connectProcess = async (
  sandbox: Sandbox,
  pid: number,
  output: Pick<StartProcessOptions, 'onStdout' | 'onStderr'>,
): Promise<CommandHandle> => withoutHistory(await sandbox.commands.connect(pid, { ...output, timeoutMs: 0 }))

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
    const end = exitOf(error)
    if (end === undefined) throw error
    return { exitCode: end.exitCode }
  }
}

export interface ScriptResult {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a short script of our own to its end. A non-zero exit is a result; rejects with the SDK's own errors. */
export async function runScript(
  sandbox: Sandbox,
  script: string,
  options: { readonly user: string | undefined; readonly limitMs: number },
): Promise<ScriptResult> {
  const { user, limitMs } = options
  try {
    const end = await sandbox.commands.run(script, {
      timeoutMs: limitMs,
      requestTimeoutMs: limitMs,
      ...(user === undefined ? {} : { user }),
    })
    return { exitCode: end.exitCode, stdout: end.stdout, stderr: end.stderr }
  } catch (error) {
    const end = exitOf(error)
    if (end === undefined) throw error
    return end
  }
}

/** What the SDK throws where a command ended with another code than 0. */
function exitOf(error: unknown): ScriptResult | undefined {
  if (!(error instanceof Error) || error.name !== 'CommandExitError') return undefined
  if (!('exitCode' in error) || typeof error.exitCode !== 'number') return undefined
  const text = (key: string): string => {
    const value: unknown = Reflect.get(error, key)
    return typeof value === 'string' ? value : ''
  }
  return { exitCode: error.exitCode, stdout: text('stdout'), stderr: text('stderr') }
}

/** Writes a file of root's; rejects with the SDK's own errors. */
export async function writeRootFile(sandbox: Sandbox, path: string, content: string): Promise<void> {
  await sandbox.files.write(path, content, { user: 'root' })
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

/** The same by its id. */
export const killPid = (sandbox: Sandbox, pid: number): Promise<boolean> => sandbox.commands.kill(pid)

/** Asking the daemon for its health takes no time; longer means that nothing comes through. */
const HEALTH_LIMIT_MS = 5_000

/** Whether requests to the sandbox are answered at all, be it by E2B with a refusal. */
export async function answers(sandbox: Sandbox): Promise<boolean> {
  try {
    await sandbox.isRunning({ requestTimeoutMs: HEALTH_LIMIT_MS })
    return true
  } catch (error) {
    // What `fetch` and the limit throw where no answer comes; the SDK's own errors are made of one.
    return !(error instanceof TypeError || error instanceof DOMException)
  }
}

export const sendInput = (process: CommandHandle, data: string): Promise<void> => process.sendStdin(data)

export const closeInput = (process: CommandHandle): Promise<void> => process.closeStdin()

/** Stops following a process. It runs on. */
export const leaveProcess = (process: CommandHandle): Promise<void> => process.disconnect()
