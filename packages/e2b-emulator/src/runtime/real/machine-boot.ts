import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Duplex, type Readable } from 'node:stream'
import { RuntimeError } from '../port.ts'
import { agentProgram } from './agent/program.ts'
import { MachineChannel } from './channel.ts'
import { systemPath, toolEnvironment } from './commands.ts'
import { channelFd, machineScript, unshareMachine } from './scripts.ts'
import type { Workspace } from './workspace.ts'

/** The processes of a machine, seen from the host. */
export interface MachineBody {
  readonly channel: MachineChannel
  /** Ends every process of the machine; resolves when none is left. */
  kill(): Promise<void>
}

/**
 * Starts a machine; resolves when its root is in place. The program inside is then still starting: calls wait for it in
 * the channel.
 */
export async function bootMachine(
  workspace: Workspace,
  directory: string,
  layers: readonly string[],
  hostname: string,
): Promise<MachineBody> {
  const { plan, userNamespace } = workspace
  if (plan.storage === 'copy') await copyImage(workspace, directory, layers[0] ?? '')
  else makeDirectories(workspace, directory)
  const [command, ...args] = [
    ...userNamespace.enter,
    // Whatever happens to this process, SIGKILL included, the machine ends with it.
    'setpriv',
    '--pdeathsig',
    'KILL',
    '--',
    ...unshareMachine,
    'bash',
    '-c',
    machineScript,
    'warmbox',
    directory,
    plan.machine(directory, layers),
    hostname,
  ]
  const child = spawn(command, args, {
    cwd: workspace.directory,
    env: toolEnvironment,
    // Interrupts from the terminal are for the host's process; it ends its machines itself.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', userNamespace.fd, 'pipe', workspace.nodeFd],
  })
  const exited = once(child, 'exit')
  // A failure to start shows as the absence of a first line below.
  exited.catch(() => undefined)
  const channel = new MachineChannel(channelOf(child))
  child.stdin?.on('error', () => undefined)
  child.stdin?.end(agentProgram({ singleUser: userNamespace.singleUser, path: systemPath }, channelFd))
  const body: MachineBody = { channel, kill: () => kill(child, channel, exited) }
  try {
    await rootInPlace(child)
  } catch (error) {
    await body.kill()
    await workspace.remove(directory)
    throw error
  }
  child.unref()
  return body
}

function channelOf(child: ChildProcess): Duplex {
  const stream = child.stdio[channelFd]
  if (!(stream instanceof Duplex)) throw new RuntimeError('failed', 'no channel to the machine')
  return stream
}

async function rootInPlace(child: ChildProcess): Promise<void> {
  let complaint = ''
  child.stderr?.on('data', (chunk: Buffer) => (complaint = (complaint + chunk.toString()).slice(-2000)))
  await new Promise<void>((resolve, reject) => {
    const failed = (cause?: unknown) =>
      reject(new RuntimeError('failed', `the machine could not be set up: ${complaint.trim()}`, { cause }))
    child.once('error', failed)
    child.once('close', () => failed())
    child.stdout?.once('data', () => resolve())
  })
  for (const stream of [child.stdout, child.stderr]) release(stream)
}

/** Lets a stream of the child go on without keeping this process alive. */
function release(stream: (Readable & { unref?(): void }) | null): void {
  stream?.resume()
  stream?.unref?.()
}

async function kill(child: ChildProcess, channel: MachineChannel, exited: Promise<unknown>): Promise<void> {
  if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
    child.ref()
    try {
      // Init takes every process of its namespace with it and is only gone after them, and unshare waits for init.
      process.kill(initOf(child.pid) ?? child.pid, 'SIGKILL')
    } catch (error) {
      // ESRCH: it ended by itself just now.
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
    }
    await exited
  }
  channel.close()
}

/** The host's id of the machine's first process; undefined while unshare has not forked yet or when it has ended. */
function initOf(pid: number): number | undefined {
  try {
    const [first] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
    return first ? Number(first) : undefined
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

/** Done from here, because a process for it would take longer than the mounts. */
function makeDirectories({ directory: top, plan, userNamespace }: Workspace, directory: string): void {
  const paths = ['', ...plan.trees.flatMap(({ key }) => [key, `${key}/u`, `${key}/w`])]
  for (const path of paths.map((name) => join(top, directory, name))) {
    mkdirSync(path)
    // Made by whatever umask this process has; the tops of the trees are seen inside.
    chmodSync(path, 0o755)
    userNamespace.own(path, 0)
  }
}

async function copyImage(workspace: Workspace, directory: string, layer: string): Promise<void> {
  const copies = workspace.plan.trees.map(
    ({ key }) => `mkdir -p "$1/${key}"; cp -a --reflink=auto "$2/${key}" "$1/${key}/u"`,
  )
  await workspace.runInside(['sh', '-ec', copies.join('; '), 'warmbox', directory, layer])
}
