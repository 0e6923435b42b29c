import { unlessAborted } from '../abort.ts'
import type { Clock } from '../clock.ts'
import type { BuildContext } from '../platform/state.ts'
import { RuntimeError, type Machine, type MachineProcess, type ProcessOutput } from '../runtime/port.ts'
import { BuildFailure, cancelled } from './build-failure.ts'
import type { BuildLog } from './build-log.ts'
import { OutputLines } from './output-lines.ts'

const COMMAND_LIMIT_MS = 60 * 60 * 1000
const STANDARD_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** The machine a build works on, and what ends the work. */
export interface BuildMachine {
  readonly machine: Machine
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly log: BuildLog
}

export interface CommandOptions {
  readonly command: string
  readonly user: string
  readonly cwd?: string | undefined
  readonly env: Readonly<Record<string, string>>
  /** Where output goes, as it arrives. Default: by lines into the build log. */
  readonly onOutput?: (output: ProcessOutput) => void
}

export type CommandEnd = { readonly ok: true } | { readonly ok: false; readonly status: string }

export const asContext = (context: BuildContext) => ({ user: context.user, cwd: context.workdir, env: context.env })

export const asRoot = { user: 'root', env: {} } as const

/**
 * Runs `/bin/bash -l -c <command>` to its end. Rejects with {@link BuildFailure} when the build is cancelled or the hour
 * is over, at once: what the command started may hold its output for longer than the command lives, so that nothing is
 * waited for. All of it ends with the machine, which whoever made that destroys then.
 */
export async function runCommand(build: BuildMachine, options: CommandOptions): Promise<CommandEnd> {
  if (build.signal.aborted) throw cancelled()
  const child = await spawnShell(build.machine, options)
  if (typeof child === 'string') return { ok: false, status: child }
  const stopListening =
    options.onOutput === undefined ? logOutput(child, build.log).stop : child.onOutput(options.onOutput)
  const over = new AbortController()
  const cancelTimer = build.clock.schedule(
    () => over.abort(new BuildFailure('command timed out after 1h0m0s')),
    COMMAND_LIMIT_MS,
  )
  const cancel = () => over.abort(cancelled())
  build.signal.addEventListener('abort', cancel, { once: true })
  if (build.signal.aborted) cancel()
  try {
    const end = await unlessAborted(child.exit, over.signal)
    return end.exitCode === 0 ? { ok: true } : { ok: false, status: end.status }
  } finally {
    cancelTimer()
    build.signal.removeEventListener('abort', cancel)
    stopListening()
  }
}

/** The process, or the words for why it could not start. */
export async function spawnShell(machine: Machine, options: CommandOptions): Promise<MachineProcess | string> {
  const { PATH } = options.env
  try {
    return await machine.spawn({
      command: '/bin/bash',
      args: ['-l', '-c', options.command],
      user: options.user,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      // A PATH of the template's own must not hide the utilities that steps rely on.
      env: PATH === undefined ? options.env : { ...options.env, PATH: `${PATH}:${STANDARD_PATH}` },
      stdin: false,
    })
  } catch (error) {
    if (error instanceof RuntimeError) return error.message
    throw error
  }
}

/** Logs the lines of a process. One that no newline has ended yet comes with `flush`, or with `stop` at last. */
export function logOutput(child: MachineProcess, log: BuildLog) {
  const lines = {
    stdout: new OutputLines((line) => log.line('stdout', line)),
    stderr: new OutputLines((line) => log.line('stderr', line)),
  }
  const unlisten = child.onOutput(({ stream, data }) => lines[stream === 'stderr' ? 'stderr' : 'stdout'].add(data))
  const flush = () => {
    lines.stdout.flush()
    lines.stderr.flush()
  }
  return {
    flush,
    stop: () => {
      unlisten()
      flush()
    },
  }
}
