import { join } from 'node:path'
import {
  RuntimeError,
  type ImageId,
  type Machine,
  type MachineOptions,
  type MountedImage,
  type Runtime,
} from '../port.ts'
import { writeBaseImage } from './base-image.ts'
import { ImageStore } from './image-store.ts'
import { copyFiles } from './machine-boot.ts'
import { RealMachine } from './machine.ts'
import { baseLayer, type Storage } from './mount-plan.ts'
import { describeChoice, probeStorage } from './probe.ts'
import { flattenScript, inspectScript } from './scripts.ts'
import { Standby } from './standby.ts'
import { createUserNamespace } from './user-namespace.ts'
import { createWorkspace, type Workspace } from './workspace.ts'

export interface RealRuntimeOptions {
  /** Where images and machines are kept; a directory of the runtime's own is made in it and removed by `close`. */
  readonly dataDirectory: string
  /** PEM certificates every image trusts besides those of the host. */
  readonly certificateAuthorities: readonly string[]
  /** How images are kept and machines get their files. Default: the best the data directory can carry. */
  readonly storage?: Storage | undefined
  /** Bytes that are free, when files are to be kept in memory. Default: what the host, or the limit of this process, leaves. */
  readonly availableMemory?: () => number
  /** So many layers an image has at most before they are made one. Default 100; the kernel takes some hundreds. */
  readonly layerLimit?: number
}

/**
 * Machines as Linux namespaces. Rejects with `failed` where the host allows none ({@link probeNamespaces} says why);
 * there is no fallback to plain processes of the host.
 *
 * A process that dies without calling `close` leaves no process, mount or directory behind.
 */
export async function createRealRuntime(options: RealRuntimeOptions): Promise<Runtime> {
  const userNamespace = await createUserNamespace()
  let workspace: Workspace | undefined
  try {
    const storage = options.storage ?? (await probeStorage(options.dataDirectory, userNamespace))
    workspace = createWorkspace({
      dataDirectory: options.dataDirectory,
      storage,
      userNamespace,
      availableMemory: options.availableMemory ?? (() => process.availableMemory()),
    })
    const tools = writeBaseImage({
      directory: join(workspace.directory, baseLayer),
      storage,
      trees: workspace.plan.trees,
      layout: workspace.layout,
      userNamespace,
      certificateAuthorities: options.certificateAuthorities,
    })
    return new RealRuntime(
      workspace,
      `${describeChoice(storage, userNamespace.singleUser)}; ${tools.join('; ')}`,
      options.layerLimit ?? 100,
    )
  } catch (error) {
    if (workspace === undefined) userNamespace.close()
    else await workspace.close()
    throw error
  }
}

class RealRuntime implements Runtime {
  readonly kind = 'real'
  readonly description: string
  readonly #workspace: Workspace
  readonly #images: ImageStore
  readonly #standby: Standby
  readonly #booting = new Set<Promise<Machine>>()
  readonly #machines = new Set<Machine>()
  readonly #layerLimit: number
  #baseImage: ImageId | undefined
  #closing: Promise<void> | undefined

  constructor(workspace: Workspace, description: string, layerLimit: number) {
    this.#layerLimit = layerLimit
    this.description = description
    this.#workspace = workspace
    this.#images = new ImageStore((layer) => workspace.discard(layer))
    this.#standby = new Standby(workspace, this.#images)
  }

  async baseImage(_image: string): Promise<ImageId> {
    this.#assertOpen()
    // Held by its own acquisition, so that an image of this name can be deleted and asked for again.
    this.#baseImage ??= this.#images.add([baseLayer])
    return this.#baseImage
  }

  async createMachine(image: ImageId, options: MachineOptions): Promise<Machine> {
    this.#assertOpen()
    const created = this.#boot(image, options)
    this.#booting.add(created)
    try {
      return await created
    } finally {
      this.#booting.delete(created)
    }
  }

  async deleteImage(image: ImageId): Promise<void> {
    if (image === this.#baseImage) this.#baseImage = undefined
    this.#standby.forget(image)
    this.#images.delete(image)
  }

  async inspectImage(image: ImageId): Promise<MountedImage> {
    this.#assertOpen()
    const held = this.#images.acquire(image)
    const name = this.#workspace.allocate('inspection')
    try {
      await this.#show(held.layers, name)
    } finally {
      held.release()
    }
    return {
      directory: join(this.#workspace.directory, name),
      release: () => this.#workspace.remove(name),
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  async #boot(image: ImageId, { hostname, id, purpose }: MachineOptions): Promise<Machine> {
    // Of a build's layer there is one machine; of a finished image there will be more.
    const booted = await this.#standby.boot(image, hostname, purpose !== 'build')
    const machine: Machine = new RealMachine(id, {
      channel: booted.vessel.channel,
      copyFiles: async () => {
        const layer = await copyFiles(this.#workspace, booted)
        return this.#images.add(await this.#stack(layer, booted.image.layers))
      },
      discard: async () => {
        await booted.discard()
        this.#machines.delete(machine)
      },
    })
    this.#machines.add(machine)
    return machine
  }

  /** The layers of an image that has one more on top. */
  async #stack(layer: string, below: readonly string[]): Promise<readonly string[]> {
    const { plan } = this.#workspace
    if (plan.storage !== 'overlay') return [layer]
    if (below.length < this.#layerLimit) return [layer, ...below]
    const flat = this.#workspace.allocate('layer')
    const own = [layer, ...below].filter((name) => name !== baseLayer)
    await this.#workspace.runMounted(flattenScript, [flat, ...plan.flattening(own)])
    this.#workspace.discard(layer)
    return [flat, baseLayer]
  }

  async #show(layers: readonly string[], name: string): Promise<void> {
    const { plan } = this.#workspace
    if (plan.storage === 'overlay') {
      await this.#workspace.runMounted(inspectScript, [name, plan.inspection(layers)])
    } else {
      const [layer = baseLayer] = layers
      await this.#workspace.runInside(['cp', '-a', `${layer}/r`, name])
      if (layer !== baseLayer) await this.#workspace.runInside(['cp', '-a', '-T', `${layer}/l`, `${name}/usr/local`])
    }
  }

  async #end(): Promise<void> {
    // Whoever asked for those is told how that went.
    await Promise.allSettled(this.#booting)
    this.#workspace.abandon()
    const ended = await Promise.allSettled([
      this.#standby.close(),
      ...[...this.#machines].map((machine) => machine.destroy()),
    ])
    await this.#workspace.close()
    const failed = ended.find((result) => result.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new RuntimeError('gone', 'the runtime was closed')
  }
}
