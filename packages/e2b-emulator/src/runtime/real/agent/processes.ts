import type { Account, Accounts, Failures } from './accounts.ts'
import type { AgentSettings, AgentSignal, ServedCall, SpawnParameters } from './contract.ts'
import type { Pipe, Pipes } from './pipes.ts'
import type { Protocol } from './protocol.ts'

export interface Processes {
  spawn(parameters: SpawnParameters, call: ServedCall): Promise<{ pid: number }>
  /** Signals one process that was started through here; throws `gone` when it has ended. */
  signal(pid: number, name: AgentSignal): void
  freeze(): void
  thaw(): void
}

/** Starts commands, streams their output as the host makes room for it, and stops or continues everything at once. */
export function createProcesses(
  settings: AgentSettings,
  protocol: Protocol,
  pipes: Pipes,
  accounts: Accounts,
  failures: Failures,
): Processes {
  const fs = process.getBuiltinModule('node:fs')
  const { spawn } = process.getBuiltinModule('node:child_process')
  const { Socket } = process.getBuiltinModule('node:net')
  const running = new Map<number, { kill(name: AgentSignal): boolean }>()
  let thawed: Promise<void> = Promise.resolve()
  let thaw: (() => void) | undefined
  /** Processes a command had stopped itself; they stay stopped when the machine goes on. */
  let alreadyStopped = new Set<number>()

  const isDirectory = (path: string) => fs.statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

  const processIds = () =>
    fs
      .readdirSync('/proc')
      .map(Number)
      .filter((pid) => pid > 1 && pid !== process.pid)

  const isStopped = (pid: number) => {
    try {
      const status = fs.readFileSync(`/proc/${pid}/stat`, 'utf8')
      // The name in parentheses may hold anything; the state is the first field after the last one.
      return status.slice(status.lastIndexOf(')') + 2).startsWith('T')
    } catch {
      // It ended between listing and reading.
      return false
    }
  }

  const startChild = (
    parameters: SpawnParameters,
    account: Account,
    cwd: string,
    stdio: readonly (Pipe | undefined)[],
  ) =>
    spawn(parameters.command, [...parameters.args], {
      cwd,
      env: {
        PATH: settings.path,
        HOME: account.home,
        USER: account.name,
        LOGNAME: account.name,
        ...parameters.env,
      },
      // A session of its own, so that `kill 0` in a command reaches that command and not the program here.
      detached: true,
      stdio: stdio.map((pipe) => pipe?.childFd ?? 'ignore'),
      ...(settings.singleUser ? {} : { uid: account.uid, gid: account.gid }),
    })

  return {
    async spawn(parameters, call) {
      // As on a machine that is paused for real, a start takes place when it goes on.
      await thawed
      const account = accounts.find(parameters.user)
      const cwd = parameters.cwd ?? account.home
      if (!isDirectory(cwd)) throw failures.create('directory-missing', `cwd ${cwd} does not exist`)
      const input = parameters.stdin ? pipes.input() : undefined
      const outputs = [pipes.output(), pipes.output()] as const
      const open: readonly Pipe[] = input === undefined ? outputs : [...outputs, input]
      const child = startChild(parameters, account, cwd, [input, ...outputs])
      for (const pipe of open) fs.closeSync(pipe.childFd)
      const stdin = input === undefined ? undefined : new Socket({ fd: input.ownFd, readable: false, writable: true })
      const window = protocol.createWindow()
      const pump = async (pipe: Pipe, kind: 'data' | 'standard-error') => {
        for await (const chunk of new Socket({ fd: pipe.ownFd, readable: true, writable: false })) {
          await thawed
          await window.reserve(chunk.length)
          call.send(kind, chunk)
        }
      }
      const output = Promise.allSettled([pump(outputs[0], 'data'), pump(outputs[1], 'standard-error')])
      call.receive({
        data(payload) {
          if (stdin === undefined || stdin.destroyed) call.event({ type: 'input-closed' })
          else stdin.write(payload, (error) => error ?? call.credit(payload.length))
        },
        end: () => void stdin?.end(),
        credit: (bytes) => window.release(bytes),
      })
      stdin?.on('error', () => call.event({ type: 'input-closed' }))

      return new Promise((resolve, reject) => {
        child.once('error', (error) => {
          if (child.pid === undefined) reject(failures.create('command-missing', error.message))
        })
        child.once('spawn', () => {
          const { pid } = child
          if (pid === undefined) return
          running.set(pid, child)
          child.once('exit', () => running.delete(pid))
          resolve({ pid })
        })
        child.once('exit', (code, signal) => {
          stdin?.destroy()
          // The command may have left its pipes to others; the end is when those are closed too and all is sent.
          void output.then(() => thawed).then(() => call.event({ type: 'exit', code, signal }))
        })
      })
    },
    signal(pid, name) {
      const child = running.get(pid)
      if (child === undefined) throw failures.create('gone', `process ${pid} has ended`)
      child.kill(name)
    },
    freeze() {
      if (thaw !== undefined) return
      thawed = new Promise((resolve) => (thaw = resolve))
      alreadyStopped = new Set(processIds().filter(isStopped))
      try {
        // In one step for everything but this program and init, so nothing can fork its way out.
        process.kill(-1, 'SIGSTOP')
      } catch (error) {
        // ESRCH: there is nothing to stop.
        if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
      }
    },
    thaw() {
      if (thaw === undefined) return
      for (const pid of processIds().filter((id) => !alreadyStopped.has(id))) {
        try {
          process.kill(pid, 'SIGCONT')
        } catch (error) {
          // ESRCH: killed while frozen and reaped just now.
          if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
        }
      }
      thaw()
      thaw = undefined
    },
  }
}
