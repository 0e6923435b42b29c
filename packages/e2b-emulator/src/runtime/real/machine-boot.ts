import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { HeldImage } from './image-store.ts'
import { memoryForFiles } from './memory-budget.ts'
import { baseLayer } from './mount-plan.ts'
import { copyFromMemoryScript } from './scripts.ts'
import { RuntimeError } from '../port.ts'
import type { Vessel } from './vessel.ts'
import type { Workspace } from './workspace.ts'

/** A machine that stands: its processes, its own directory, and the image below it that is kept meanwhile. */
export interface BootedMachine {
  readonly vessel: Vessel
  readonly directory: string
  readonly image: HeldImage
  /** Its files are in memory, where only its own processes see them. */
  readonly inMemory: boolean
  /** Ends it, and lets go of its files and of the image. */
  discard(): Promise<void>
}

/**
 * Gives a vessel the root of an image; resolves when that is in place. The program inside may then still be starting:
 * calls wait for it in the channel. Where it rejects, vessel and image are already let go.
 */
export async function bootMachine(
  workspace: Workspace,
  vessel: Vessel,
  image: HeldImage,
  hostname: string,
): Promise<BootedMachine> {
  const directory = workspace.allocate('machine')
  const discard = async () => {
    await vessel.kill()
    workspace.discard(directory)
    image.release()
  }
  let inMemory: boolean
  try {
    inMemory = await writeDirectory(workspace, directory, image.layers)
    await vessel.takeRoot(directory, hostname)
    if (!(await vessel.answers())) throw new RuntimeError('failed', 'the machine ended while it was set up')
  } catch (error) {
    await discard()
    throw error
  }
  // Pipes for the first commands. Where that fails, a command finds it out again and says so.
  vessel.channel.request('prepare', null).catch(() => undefined)
  return { vessel, directory, image, inMemory, discard }
}

/** True where the machine's files are going to be in memory. */
async function writeDirectory(workspace: Workspace, directory: string, layers: readonly string[]): Promise<boolean> {
  const { plan } = workspace
  const [layer = ''] = layers
  const bytes = plan.storage === 'tmpfs' ? await memoryFor(workspace, layer) : undefined
  if (plan.storage === 'overlay') makeDirectories(workspace, directory)
  else if (bytes === undefined) await copyImage(workspace, directory, layer)
  else {
    await workspace.runInside(['mkdir', directory])
    writeFileSync(join(workspace.directory, directory, 'before'), plan.intoMemory(directory, layer, bytes))
  }
  writeFileSync(join(workspace.directory, directory, 'fstab'), `${plan.machine(directory, layers)}\n`)
  return bytes !== undefined
}

const memoryFor = async (workspace: Workspace, layer: string) =>
  memoryForFiles(await workspace.bytesOf(layer), workspace.availableMemory())

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

/** What the machine's files are now, as a layer; whoever asks has stopped what could change them. */
export async function copyFiles(workspace: Workspace, machine: BootedMachine): Promise<string> {
  const layer = workspace.allocate('layer')
  const { trees, mounted } = workspace.plan
  const copies = trees.map(({ key }) => `cp -a --reflink=auto "$1/${key}/u" "$2/${key}"`)
  const fromDisk = ['sh', '-ec', `mkdir "$2"; ${copies.join('; ')}`, 'warmbox', machine.directory, layer]
  const fromMemory = ['bash', '-c', copyFromMemoryScript, 'warmbox', machine.vessel.root, layer, baseLayer, ...mounted]
  try {
    await workspace.runInside(machine.inMemory ? fromMemory : fromDisk)
    return layer
  } catch (error) {
    workspace.discard(layer)
    throw error
  }
}
