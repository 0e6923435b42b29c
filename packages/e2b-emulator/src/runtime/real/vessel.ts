import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { Duplex, Writable, type Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { RuntimeError } from '../port.ts'
import type { AgentSettings } from './agent/contract.ts'
import { agentProgram } from './agent/program.ts'
import { MachineChannel } from './channel.ts'
import { systemPath, toolEnvironment } from './commands.ts'
import { createMilestones, type Milestones } from './milestones.ts'
import { systemDirectories } from '../system-directories.ts'
import { channelFd, machineScript, orderFd, unshareMachine } from './scripts.ts'
import type { Workspace } from './workspace.ts'

/**
 * The processes of a machine without its files: namespaces, and the program inside that starts up while nobody waits
 * for it. An order gives it the root of one image, once; from then on it is that machine's.
 */
export interface Vessel {
  readonly channel: MachineChannel
  /** False once its processes have ended, or the program inside has, with which they end. */
  readonly alive: boolean
  /** As {@link alive}, but asks the program inside, whose end may not have been noticed. Does not wait for its start. */
  answers(): Promise<boolean>
  /** Mounts the fstab in `directory` as the root. Rejects with `failed` and the system's words; the vessel is then dead. */
  takeRoot(directory: string, hostname: string): Promise<void>
  /** The machine's root, by way of `/proc`, for whoever may look at its processes. */
  readonly root: string
  /** Ends every process inside; resolves when none is left. */
  kill(): Promise<void>
}

/** Starts one. It does not keep this process alive, and ends with it, SIGKILL included. */
export function startVessel({ directory, nodeFd, userNamespace }: Workspace): Vessel {
  const [command, ...args] = [
    ...userNamespace.enter,
    // A program inside that was stopped cannot notice that the host is gone; this does.
    'setpriv',
    '--pdeathsig',
    'KILL',
    '--',
    ...unshareMachine,
    'bash',
    // Its input is a socket, for which bash would run the start-up file of the host's user.
    '--norc',
    '-c',
    machineScript,
    'warmbox',
  ]
  const child = spawn(command, args, {
    cwd: directory,
    env: toolEnvironment,
    // Interrupts from the terminal are for the host's process; it ends its machines itself.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', userNamespace.fd, 'pipe', nodeFd, 'pipe'],
  })
  return new ChildVessel(child, agentProgram(settingsOf(userNamespace.singleUser), channelFd))
}

/** Inside its namespaces everything is the machine's own. */
const settingsOf = (singleUser: boolean): AgentSettings => ({
  singleUser,
  path: systemPath,
  root: '',
  kept: systemDirectories,
  scratch: '/dev/shm',
  mark: null,
  defaults: {},
  fixed: {},
})

class ChildVessel implements Vessel {
  readonly channel: MachineChannel
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown>
  readonly #closed: Promise<unknown>
  readonly #milestones: Milestones
  readonly #order: Writable
  #complaint = ''
  #started = false

  constructor(child: ChildProcess, program: string) {
    const channel = child.stdio[channelFd]
    const order = child.stdio.at(orderFd)
    if (!(channel instanceof Duplex) || !(order instanceof Writable) || child.stdout === null || child.stderr === null)
      throw new RuntimeError('failed', 'no pipes to the machine')
    this.#child = child
    this.#order = order
    this.channel = new MachineChannel(channel)
    this.#milestones = createMilestones(child.stdout)
    this.#exited = once(child, 'exit')
    this.#closed = once(child, 'close')
    // A failure to start shows as a milestone that is not reached.
    this.#exited.catch(() => undefined)
    this.#closed.catch(() => undefined)
    child.stderr.on('data', (chunk: Buffer) => (this.#complaint = (this.#complaint + chunk.toString()).slice(-2000)))
    for (const input of [child.stdin, order]) input?.on('error', () => undefined)
    child.stdin?.end(program)
    for (const stream of [child.stdin, order]) holdStream(stream, false)
    this.#hold(false)
    void this.#ping()
  }

  get alive(): boolean {
    return !this.channel.closed && this.#running
  }

  async answers(): Promise<boolean> {
    return this.alive && (!this.#started || (await this.#ping()))
  }

  async #ping(): Promise<boolean> {
    try {
      await this.channel.request('ping', null)
      this.#started = true
      return true
    } catch {
      // The channel is closed, which is the answer.
      return false
    }
  }

  get #running(): boolean {
    return this.#child.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  get root(): string {
    return `/proc/${childrenOf(this.#child.pid)[0] ?? 0}/root`
  }

  async takeRoot(directory: string, hostname: string): Promise<void> {
    // What is waited for keeps this process alive meanwhile.
    this.#hold(true)
    try {
      if (await this.#milestones.reached('init')) {
        const [mounter] = childrenOf(childrenOf(this.#child.pid)[0])
        this.#order.end(`${directory}\n${hostname}\n`)
        if (await this.#milestones.reached('mounted')) {
          await ended(mounter)
          return
        }
      }
      await this.kill()
      // All it had to say.
      await this.#closed.catch(() => undefined)
    } finally {
      this.#hold(false)
    }
    throw new RuntimeError('failed', `the machine could not be set up: ${this.#complaint.trim()}`)
  }

  async kill(): Promise<void> {
    const { pid } = this.#child
    if (this.#running && pid !== undefined) {
      this.#child.ref()
      try {
        // Init takes every process of its namespace with it and is only gone after them, and unshare waits for init.
        process.kill(childrenOf(pid)[0] ?? pid, 'SIGKILL')
      } catch (error) {
        // ESRCH: it ended by itself just now.
        if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
      }
    }
    if (this.#child.pid !== undefined) await this.#exited
    this.channel.close()
  }

  /** Whether the child and what it says keep this process alive. */
  #hold(held: boolean): void {
    if (held) this.#child.ref()
    else this.#child.unref()
    for (const stream of [this.#child.stdout, this.#child.stderr]) holdStream(stream, held)
  }
}

/** Pipes to children are sockets, which the types do not say. */
function holdStream(stream: ((Readable | Writable) & { ref?(): void; unref?(): void }) | null, held: boolean): void {
  if (held) stream?.ref?.()
  else stream?.unref?.()
}

/** The host's ids of the children of a process, oldest first; none where it has ended. */
function childrenOf(pid: number | undefined): number[] {
  if (pid === undefined) return []
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')) return []
    throw error
  }
}

/**
 * Resolves once a process has ended, which is its very next step. It is the last with the power to mount, and nothing of
 * the image may run beside it.
 */
async function ended(pid: number | undefined): Promise<void> {
  if (pid === undefined) return
  while (existsSync(`/proc/${pid}`)) await sleep(1)
}
