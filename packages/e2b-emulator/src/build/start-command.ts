import { pause } from '../clock.ts'
import type { BootInstructions } from '../platform/state.ts'
import { BuildFailure, cancelled } from './build-failure.ts'
import { asContext, logOutput, runCommand, spawnShell, type BuildMachine, type CommandOptions } from './command.ts'

const READY_RETRY_MS = 2000
const READY_LIMIT_MS = 10 * 60 * 1000

/** What the platform waits for where a start command comes without a ready command. */
const DEFAULT_READY_COMMAND = 'sleep 20'

/**
 * Starts the start command and waits until the ready command exits 0. The start command goes on running.
 * A start command that ends with anything but 0 before that fails the build.
 */
export async function startAndWaitUntilReady(build: BuildMachine, commands: BootInstructions): Promise<void> {
  const { startCommand, context } = commands
  const readyCommand = commands.readyCommand ?? (startCommand === undefined ? undefined : DEFAULT_READY_COMMAND)
  let failure: string | undefined
  let output: ReturnType<typeof logOutput> | undefined
  if (startCommand !== undefined) {
    build.log.write('info', `[start] ${startCommand}`)
    const child = await spawnShell(build.machine, { ...asContext(context), command: startCommand })
    if (typeof child === 'string') throw new BuildFailure(`failed to run start command: ${child}`)
    const logged = logOutput(child, build.log)
    output = logged
    void child.exit.then((end) => {
      if (end.exitCode !== 0) failure = end.status
      return logged.stop()
    })
  }
  try {
    if (readyCommand !== undefined)
      await waitUntilReady(build, { ...asContext(context), command: readyCommand }, () => failure)
  } finally {
    // A prompt ends with no newline; what is said later begins another line.
    output?.flush()
  }
}

async function waitUntilReady(
  build: BuildMachine,
  ready: CommandOptions,
  failureOfStart: () => string | undefined,
): Promise<void> {
  build.log.write('info', `[ready] ${ready.command}`)
  const deadline = build.clock.now() + READY_LIMIT_MS
  for (;;) {
    const end = await runCommand(build, ready)
    const failure = failureOfStart()
    if (failure !== undefined) throw new BuildFailure(`start command failed: ${failure}`)
    if (end.ok) return
    if (build.clock.now() >= deadline) throw new BuildFailure('ready command timed out after 10m0s')
    await pause(build.clock, READY_RETRY_MS, build.signal)
    if (build.signal.aborted) throw cancelled()
  }
}

/**
 * Starts the template's start command in a new sandbox. On the platform the running process is part of the memory that
 * every sandbox starts from; here it is started again.
 */
export async function restartInSandbox(build: BuildMachine, boot: BootInstructions): Promise<void> {
  const { readyCommand } = boot
  // A mere pause has nothing to wait for: the platform's sandbox was ready when its build ended.
  const isPause = readyCommand === undefined || /^\s*sleep\s+[\d.]+\s*$/.test(readyCommand)
  await startAndWaitUntilReady(build, { ...boot, readyCommand: isPause ? 'true' : readyCommand })
}
