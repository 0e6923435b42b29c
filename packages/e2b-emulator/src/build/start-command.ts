import { pause } from '../clock.ts'
import type { BootInstructions } from '../platform/state.ts'
import { BuildFailure, cancelled } from './build-failure.ts'
import { asContext, runCommand, spawnShell, type BuildMachine } from './command.ts'

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
  if (startCommand !== undefined) {
    build.log.write('info', `[start] ${startCommand}`)
    const child = await spawnShell(build.machine, { ...asContext(context), command: startCommand })
    if (typeof child === 'string') throw new BuildFailure(`failed to run start command: ${child}`)
    child.onOutput(({ stream, data }) =>
      build.log.output(stream === 'stderr' ? 'stderr' : 'stdout', new TextDecoder().decode(data)),
    )
    void child.exit.then((end) => {
      if (end.exitCode !== 0) failure = end.status
      return undefined
    })
  }
  if (readyCommand === undefined) return
  build.log.write('info', `[ready] ${readyCommand}`)
  const deadline = build.clock.now() + READY_LIMIT_MS
  for (;;) {
    const ready = await runCommand(build, { ...asContext(context), command: readyCommand })
    if (failure !== undefined) throw new BuildFailure(`start command failed: ${failure}`)
    if (ready.ok) return
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
