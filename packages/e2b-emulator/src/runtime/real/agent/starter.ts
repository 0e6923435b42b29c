import type { ChildProcess } from 'node:child_process'
import type { Account, Failures } from './accounts.ts'
import type { AgentSettings, AgentSignal, SpawnParameters, TerminalSize } from './contract.ts'
import type { Pipes } from './pipes.ts'
import type { Terminals } from './terminals.ts'

/** A command and the ends of what connects it to the outside. */
export interface StartedCommand {
  /** Resolves once it runs; rejects with `command-missing`. */
  readonly pid: Promise<number>
  /** Resolves when the process is gone; never where it did not start. */
  readonly exit: Promise<{ readonly code: number | null; readonly signal: string | null }>
  kill(name: AgentSignal): void
  readonly outputs: readonly { readonly kind: 'data' | 'standard-error'; readonly chunks: AsyncIterable<Buffer> }[]
  /** Null where its input is closed from the start. */
  readonly input: CommandInput | null
  /** Null where it has no terminal. */
  readonly resize: ((size: TerminalSize) => Promise<void>) | null
}

export interface CommandInput {
  /** Resolves once the command's side took the data; rejects when it takes no more. */
  write(data: Buffer): Promise<void>
  end(): void
  close(): void
}

export interface Starter {
  /** Starts a command on pipes or on a terminal. Throws what {@link Terminals.open} throws, and `command-missing`. */
  start(parameters: SpawnParameters, account: Account, cwd: string): Promise<StartedCommand>
}

export function createStarter(
  settings: AgentSettings,
  pipes: Pipes,
  terminals: Terminals,
  failures: Failures,
): Starter {
  const fs = process.getBuiltinModule('node:fs')
  const { posix } = process.getBuiltinModule('node:path')
  const { spawn } = process.getBuiltinModule('node:child_process')
  const { Socket } = process.getBuiltinModule('node:net')

  const environmentOf = (parameters: SpawnParameters, account: Account): Record<string, string> => ({
    PATH: settings.path,
    ...settings.defaults,
    HOME: account.home,
    USER: account.name,
    LOGNAME: account.name,
    ...parameters.env,
    ...settings.fixed,
  })

  const identityOf = (account: Account) => (settings.singleUser ? {} : { uid: account.uid, gid: account.gid })

  /** Listens at once: what Node tells of a child, it tells but one time. */
  const observe = (child: ChildProcess): Pick<StartedCommand, 'pid' | 'exit' | 'kill'> => ({
    pid: new Promise((resolve, reject) => {
      child.once('error', (error) => {
        if (child.pid === undefined) reject(failures.create('command-missing', error.message))
      })
      child.once('spawn', () => {
        if (child.pid !== undefined) resolve(child.pid)
      })
    }),
    exit: new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal }))),
    kill: (name) => void child.kill(name),
  })

  const locate = (command: string, path: string, cwd: string): string => {
    const candidates = command.includes('/')
      ? [posix.resolve(cwd, command)]
      : path.split(':').map((directory) => posix.join(directory, command))
    const found = candidates.find((candidate) => fs.statSync(candidate, { throwIfNoEntry: false })?.isFile())
    if (found === undefined) throw failures.create('command-missing', `no command ${command} in this machine`)
    return found
  }

  const onTerminal = async (
    parameters: SpawnParameters,
    size: TerminalSize,
    account: Account,
    cwd: string,
  ): Promise<StartedCommand> => {
    const env = environmentOf(parameters, account)
    const command = locate(parameters.command, env['PATH'] ?? '', cwd)
    const setsid = locate('setsid', settings.path, cwd)
    const terminal = await terminals.open(size, account)
    // It makes a session, takes the terminal for it, and becomes the command without another process in between.
    const child = spawn(setsid, ['--ctty', command, ...parameters.args], {
      cwd,
      env,
      stdio: [terminal.childFd, terminal.childFd, terminal.childFd],
      ...identityOf(account),
    })
    fs.closeSync(terminal.childFd)
    if (child.pid === undefined) terminal.discard()
    return {
      ...observe(child),
      outputs: child.pid === undefined ? [] : [{ kind: 'data', chunks: terminal.output() }],
      input: { write: (data) => terminal.write(data), end: () => undefined, close: () => undefined },
      resize: (next) => terminal.resize(next),
    }
  }

  const onPipes = (parameters: SpawnParameters, account: Account, cwd: string): StartedCommand => {
    const input = parameters.stdin ? pipes.input() : undefined
    const outputs = [pipes.output(), pipes.output()] as const
    const child = spawn(parameters.command, [...parameters.args], {
      cwd,
      env: environmentOf(parameters, account),
      // A session of its own, so that `kill 0` in a command reaches that command and not the program here.
      detached: true,
      stdio: [input?.childFd ?? 'ignore', outputs[0].childFd, outputs[1].childFd],
      ...identityOf(account),
    })
    for (const pipe of input === undefined ? outputs : [...outputs, input]) fs.closeSync(pipe.childFd)
    return {
      ...observe(child),
      outputs: [
        { kind: 'data', chunks: read(outputs[0].ownFd) },
        { kind: 'standard-error', chunks: read(outputs[1].ownFd) },
      ],
      input: input === undefined ? null : writerOf(input.ownFd),
      resize: null,
    }
  }

  const read = (fd: number): AsyncIterable<Buffer> => new Socket({ fd, readable: true, writable: false })

  const writerOf = (fd: number): CommandInput => {
    const stdin = new Socket({ fd, readable: false, writable: true })
    // Told to whoever writes.
    stdin.on('error', () => undefined)
    return {
      write: (data) =>
        new Promise((resolve, reject) => {
          if (stdin.destroyed) reject(failures.create('gone', 'the command no longer reads its input'))
          else stdin.write(data, (error) => (error ? reject(error) : resolve()))
        }),
      end: () => void stdin.end(),
      close: () => void stdin.destroy(),
    }
  }

  return {
    start: async (parameters, account, cwd) =>
      parameters.terminal === null
        ? onPipes(parameters, account, cwd)
        : onTerminal(parameters, parameters.terminal, account, cwd),
  }
}
