import { mkdirSync, openSync, closeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { claimDirectory } from '../own-directory.ts'
import { runTool } from './commands.ts'
import { startRemoval } from './janitor.ts'
import { createMountPlan, type MountPlan, type Storage } from './mount-plan.ts'
import { readHostLayout, type HostLayout } from './trees.ts'
import type { UserNamespace } from './user-namespace.ts'

const sweepDelayMs = 50

/** The runtime's directory on the host and the tools that work in it. */
export interface Workspace {
  readonly directory: string
  readonly layout: HostLayout
  readonly plan: MountPlan
  readonly userNamespace: UserNamespace
  /** Descriptor of the Node binary, so that a machine whose files were all removed still has its init. */
  readonly nodeFd: number
  /** A name no one else has, relative to {@link directory}. */
  allocate(kind: 'layer' | 'machine' | 'inspection'): string
  /** Runs a command as the machines' root, in {@link directory}; for work on files that belong to machines. */
  runInside(argv: readonly string[]): Promise<void>
  /** What a layer takes. */
  bytesOf(layer: string): Promise<number>
  /** Bytes that are free for files in memory. */
  availableMemory(): number
  /** Runs a script in a mount namespace of its own. */
  runMounted(script: string, args: readonly string[]): Promise<void>
  /** Removes it now. */
  remove(name: string): Promise<void>
  /** Removes it soon, together with what else is discarded; nobody needs to wait for that. */
  discard(name: string): void
  /** From now on nothing is removed by itself, because {@link close} removes everything. */
  abandon(): void
  close(): Promise<void>
}

export interface WorkspaceOptions {
  readonly dataDirectory: string
  readonly storage: Storage
  readonly userNamespace: UserNamespace
  readonly availableMemory: () => number
}

export function createWorkspace(options: WorkspaceOptions): Workspace {
  const { dataDirectory, storage, userNamespace, availableMemory } = options
  const { path: directory, janitor } = claimDirectory(dataDirectory, 'warmbox-runtime-', (path) =>
    startRemoval(path, userNamespace),
  )
  // The machines' root must be able to work here; it need not be able to walk the path that leads here.
  userNamespace.own(directory, 0)
  // What overlays take where they want one more lower directory than there is.
  mkdirSync(join(directory, 'empty'))
  const layout = readHostLayout()
  const nodeFd = openSync(process.execPath, 'r')
  let next = 0
  let abandoned = false
  let discarded: string[] = []
  let sweeping: Promise<void> | undefined

  const inside = (argv: readonly string[]) =>
    runTool([...userNamespace.enter, ...argv], { cwd: directory, fds: [userNamespace.fd] })
  const runInside = async (argv: readonly string[]) => {
    await inside(argv)
  }
  const sizes = new Map<string, Promise<number>>()
  const measure = async (layer: string) => Number.parseInt(await inside(['du', '-s', '--block-size=1', layer]), 10)
  const sweep = async () => {
    // One process for as many as possible, and not while whoever discarded the first is waited for.
    await sleep(sweepDelayMs, undefined, { ref: false })
    const names = discarded
    discarded = []
    sweeping = undefined
    // What could not be removed goes with the whole directory in the end.
    if (!abandoned) await runInside(['rm', '-rf', '--', ...names]).catch(() => undefined)
  }
  return {
    directory,
    layout,
    plan: createMountPlan(storage, layout, userNamespace.singleUser),
    userNamespace,
    nodeFd,
    allocate: (kind) => `${kind.slice(0, 1)}${(next++).toString(36)}`,
    runInside,
    // A layer never changes.
    bytesOf: (layer) => {
      const known = sizes.get(layer) ?? measure(layer)
      sizes.set(layer, known)
      return known
    },
    availableMemory,
    runMounted: (script, args) => runInside(['unshare', '--mount', 'bash', '-c', script, 'warmbox', ...args]),
    async remove(name) {
      if (!abandoned) await runInside(['rm', '-rf', '--', name])
    },
    discard(name) {
      sizes.delete(name)
      discarded.push(name)
      sweeping ??= sweep()
    },
    abandon: () => {
      abandoned = true
    },
    async close() {
      await janitor.dismiss()
      closeSync(nodeFd)
      userNamespace.close()
    },
  }
}
