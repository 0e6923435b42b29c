import { constants } from 'node:os'
import { RuntimeError, type MachineProcess, type ProcessExit, type ProcessOutput, type SpawnOptions } from '../port.ts'
import type { MachineChannel } from './channel.ts'
import { deferred } from '../deferred.ts'

type OutputListener = (output: ProcessOutput) => void | Promise<void>

/** Starts a command inside; the caller gets it once it runs, or the typed reason why it does not. */
export async function spawnInMachine(channel: MachineChannel, options: SpawnOptions): Promise<MachineProcess> {
  const listeners = new Set<OutputListener>()
  const listening = deferred<void>()
  const exit = deferred<ProcessExit>()
  let heard = false
  let gone = false
  let delivered: Promise<unknown> = Promise.resolve()
  const input = channel.createWindow()

  const deliver = async (output: ProcessOutput) => {
    await listening.promise
    // A listener that fails has to tell its own caller; it must not stall the process or the other listeners.
    await Promise.allSettled([...listeners].map(async (listener) => listener(output)))
    call.credit(output.data.length)
  }
  const settle = async (result: ProcessExit) => {
    // A short command may be over before its caller had a turn to listen. After that turn nobody is waited for, so that
    // an exit comes even where the output is of no interest; it stays for a listener that comes later.
    if (!heard) await new Promise((resolve) => setImmediate(resolve))
    if (heard) await delivered
    exit.resolve(result)
  }
  const end = (result: ProcessExit) => {
    gone = true
    input.close()
    call.finish()
    void settle(result)
  }

  const call = channel.open(
    'spawn',
    {
      command: options.command,
      args: options.args,
      cwd: options.cwd ?? null,
      user: options.user,
      env: options.env,
      stdin: options.stdin,
      terminal: options.pty ?? null,
    },
    {
      data(payload, kind) {
        const output: ProcessOutput = { stream: streamOf(kind, options), data: payload }
        delivered = delivered.then(() => deliver(output))
      },
      event(event) {
        if (event.type === 'exit') end(describeExit(event.code, event.signal))
        else if (event.type === 'input-closed') input.close()
      },
      credit: (bytes) => input.release(bytes),
      closed: () => end(describeExit(null, 'SIGKILL')),
    },
  )
  const { pid } = await call.reply.catch((error: unknown) => {
    call.finish()
    throw error
  })

  const inputClosed = () => new RuntimeError('gone', `process ${pid} no longer reads its input`)
  const assertRunning = () => {
    if (gone) throw new RuntimeError('gone', `process ${pid} has ended`)
  }
  return {
    pid,
    exit: exit.promise,
    onOutput(listener) {
      listeners.add(listener)
      heard = true
      listening.resolve()
      return () => void listeners.delete(listener)
    },
    async write(data) {
      assertRunning()
      if (!options.stdin && options.pty === undefined) throw inputClosed()
      for (let offset = 0; offset < data.length; offset += channel.chunkBytes) {
        const chunk = data.subarray(offset, offset + channel.chunkBytes)
        if (!(await input.reserve(chunk.length))) throw inputClosed()
        call.send('data', chunk)
      }
      if (!(await input.drained())) throw inputClosed()
    },
    async closeStdin() {
      assertRunning()
      call.send('end')
    },
    async resize(size) {
      assertRunning()
      await channel.request('resize', { pid, size })
    },
    async signal(name) {
      assertRunning()
      await channel.request('signal', { pid, name })
    },
  }
}

function streamOf(kind: 'data' | 'standard-error', { pty }: SpawnOptions): ProcessOutput['stream'] {
  if (pty !== undefined) return 'pty'
  return kind === 'data' ? 'stdout' : 'stderr'
}

/** As Go's `os.ProcessState` words it, which is what envd passes on. */
const signalWords: Readonly<Record<string, string>> = {
  SIGHUP: 'hangup',
  SIGINT: 'interrupt',
  SIGQUIT: 'quit',
  SIGILL: 'illegal instruction',
  SIGTRAP: 'trace/breakpoint trap',
  SIGABRT: 'aborted',
  SIGBUS: 'bus error',
  SIGFPE: 'floating point exception',
  SIGKILL: 'killed',
  SIGUSR1: 'user defined signal 1',
  SIGSEGV: 'segmentation fault',
  SIGUSR2: 'user defined signal 2',
  SIGPIPE: 'broken pipe',
  SIGALRM: 'alarm clock',
  SIGTERM: 'terminated',
}

function describeExit(code: number | null, signal: string | null): ProcessExit {
  if (signal !== null) {
    const number = Object.entries(constants.signals).find(([name]) => name === signal)?.[1]
    return { exitCode: -1, exited: false, status: `signal: ${signalWords[signal] ?? `signal ${number ?? 0}`}` }
  }
  const exitCode = code ?? -1
  return { exitCode, exited: true, status: `exit status ${exitCode}` }
}
