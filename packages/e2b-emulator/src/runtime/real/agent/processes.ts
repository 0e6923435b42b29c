import type { Account, Accounts, Failures } from './accounts.ts'
import type { AgentSignal, ServedCall, SpawnParameters, TerminalSize } from './contract.ts'
import type { Population } from './population.ts'
import type { Protocol, SendWindow } from './protocol.ts'
import type { StartedCommand, Starter } from './starter.ts'

export interface Processes {
  spawn(parameters: SpawnParameters, call: ServedCall): Promise<{ pid: number }>
  /** Signals one process that was started through here; throws `gone` when it has ended. */
  signal(pid: number, name: AgentSignal): void
  /** Throws `gone` when it has ended and `unsupported` where it has no terminal. */
  resize(pid: number, size: TerminalSize): Promise<void>
  freeze(): void
  thaw(): void
}

/** Starts commands, streams their output as the host makes room for it, and stops or continues everything at once. */
export function createProcesses(
  protocol: Protocol,
  starter: Starter,
  population: Population,
  accounts: Accounts,
  failures: Failures,
): Processes {
  const fs = process.getBuiltinModule('node:fs')
  const running = new Map<number, StartedCommand>()
  let thawed: Promise<void> = Promise.resolve()
  let thaw: (() => void) | undefined
  /** Processes a command had stopped itself; they stay stopped when the machine goes on. */
  let alreadyStopped: ReadonlySet<number> = new Set()

  /** What is no directory is refused where the command starts there, and so is one that its user may not enter. */
  const assertDirectory = (cwd: string, account: Account): void => {
    try {
      if (!fs.statSync(cwd).isDirectory()) throw failures.refuse('ENOTDIR', `chdir ${cwd}`)
      if (!accounts.mayEnter(cwd, account)) throw failures.refuse('EACCES', `chdir ${cwd}`)
    } catch (error) {
      const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
      throw isMissing ? failures.create('directory-missing', `cwd '${cwd}' does not exist`) : error
    }
  }

  const find = (pid: number): StartedCommand => {
    const command = running.get(pid)
    if (command === undefined) throw failures.create('gone', `process ${pid} has ended`)
    return command
  }

  /** Passes on what the command writes; resolves when all of it is sent and nobody can write any more. */
  const passOn = (outputs: StartedCommand['outputs'], window: SendWindow, call: ServedCall) =>
    Promise.allSettled(
      outputs.map(async ({ kind, chunks }) => {
        for await (const chunk of chunks) {
          await thawed
          await window.reserve(chunk.length)
          call.send(kind, chunk)
        }
      }),
    )

  return {
    async spawn(parameters, call) {
      // As on a machine that is paused for real, a start takes place when it goes on.
      await thawed
      const account = accounts.find(parameters.user)
      const cwd = parameters.cwd ?? account.home
      assertDirectory(cwd, account)
      const command = await starter.start(parameters, account, cwd)
      const { input } = command
      const window = protocol.createWindow()
      const output = passOn(command.outputs, window, call)
      const inputClosed = () => call.event({ type: 'input-closed' })
      call.receive({
        data(payload) {
          if (input === null) inputClosed()
          else input.write(payload).then(() => call.credit(payload.length), inputClosed)
        },
        end: () => input?.end(),
        credit: (bytes) => window.release(bytes),
      })
      const pid = await command.pid
      running.set(pid, command)
      const afterExit = async () => {
        const exit = await command.exit
        running.delete(pid)
        input?.close()
        // The command may have left its pipes to others; the end is when those are closed too and all is sent.
        await output
        await thawed
        call.event({ type: 'exit', ...exit })
      }
      void afterExit()
      return { pid }
    },
    signal(pid, name) {
      find(pid).kill(name)
    },
    async resize(pid, size) {
      await thawed
      const { resize } = find(pid)
      if (resize === null) throw failures.create('unsupported', 'the process has no terminal')
      await resize(size)
    },
    freeze() {
      if (thaw !== undefined) return
      thawed = new Promise((resolve) => (thaw = resolve))
      alreadyStopped = population.stop()
    },
    thaw() {
      if (thaw === undefined) return
      population.resume(population.commands().filter((pid) => !alreadyStopped.has(pid)))
      thaw()
      thaw = undefined
    },
  }
}
