import type { ChildProcess, SpawnOptions } from 'node:child_process'
import type { Account, Failures } from './accounts.ts'
import type { AgentSettings, AgentSignal, SpawnParameters, TerminalSize } from './contract.ts'
import type { Pipes } from './pipes.ts'
import type { Terminals } from './terminals.ts'

/** A command and the ends of what connects it to the outside. */
export interface StartedCommand {
  /** Resolves once it runs; rejects as {@link Starter.start} does. */
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
  /**
   * Starts a command on pipes or on a terminal. Throws what {@link Terminals.open} throws, `command-missing`, and what
   * the system refused: too long arguments, a directory that the user may not enter.
   */
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

  const refusal = (error: unknown, command: string): Error => {
    const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
    if (code === 'ENOENT') return failures.create('command-missing', `no command ${command} in this machine`)
    // Node looks for zero bytes itself, where the system would find the argument invalid.
    return failures.refuse(code === 'ERR_INVALID_ARG_VALUE' ? 'EINVAL' : code, `fork/exec ${command}`)
  }

  /** Node throws some refusals and tells others later; the child's ends are closed here either way. */
  const launch = (
    command: string,
    args: readonly string[],
    {
      childFds,
      discard,
      ...options
    }: SpawnOptions & { readonly childFds: readonly number[]; readonly discard: () => void },
  ): ChildProcess => {
    try {
      const child = spawn(command, args, options)
      if (child.pid === undefined) discard()
      return child
    } catch (error) {
      discard()
      throw refusal(error, command)
    } finally {
      for (const fd of childFds) fs.closeSync(fd)
    }
  }

  /** Listens at once: what Node tells of a child, it tells but one time. */
  const observe = (child: ChildProcess, command: string): Pick<StartedCommand, 'pid' | 'exit' | 'kill'> => ({
    pid: new Promise((resolve, reject) => {
      child.once('error', (error) => {
        if (child.pid === undefined) reject(refusal(error, command))
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
    const child = launch(setsid, ['--ctty', command, ...parameters.args], {
      cwd,
      env,
      stdio: [terminal.childFd, terminal.childFd, terminal.childFd],
      ...identityOf(account),
      childFds: [terminal.childFd],
      discard: () => terminal.discard(),
    })
    return {
      ...observe(child, command),
      outputs: child.pid === undefined ? [] : [{ kind: 'data', chunks: terminal.output() }],
      input: { write: (data) => terminal.write(data), end: () => undefined, close: () => undefined },
      resize: (next) => terminal.resize(next),
    }
  }

  const onPipes = (parameters: SpawnParameters, account: Account, cwd: string): StartedCommand => {
    const input = parameters.stdin ? pipes.input() : undefined
    const outputs = [pipes.output(), pipes.output()] as const
    const all = input === undefined ? outputs : [...outputs, input]
    const child = launch(parameters.command, parameters.args, {
      cwd,
      env: environmentOf(parameters, account),
      // A session of its own, so that `kill 0` in a command reaches that command and not the program here.
      detached: true,
      stdio: [input?.childFd ?? 'ignore', outputs[0].childFd, outputs[1].childFd],
      ...identityOf(account),
      childFds: all.map(({ childFd }) => childFd),
      discard: () => {
        for (const { ownFd } of all) fs.closeSync(ownFd)
      },
    })
    const isRunning = child.pid !== undefined
    return {
      ...observe(child, parameters.command),
      outputs: isRunning
        ? [
            { kind: 'data', chunks: read(outputs[0].ownFd) },
            { kind: 'standard-error', chunks: read(outputs[1].ownFd) },
          ]
        : [],
      input: input === undefined || !isRunning ? null : writerOf(input.ownFd),
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
