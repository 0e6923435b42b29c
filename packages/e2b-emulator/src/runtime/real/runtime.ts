import { join } from 'node:path'
import type { ImageId, Machine, MachineOptions, MountedImage, Runtime } from '../port.ts'
import { ProcessRuntime } from '../process-runtime.ts'
import { writeBaseImage } from './base-image.ts'
import { ImageStore } from './image-store.ts'
import { copyFiles } from './machine-boot.ts'
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

class RealRuntime extends ProcessRuntime {
  readonly kind = 'real'
  readonly #workspace: Workspace
  readonly #standby: Standby
  readonly #layerLimit: number

  constructor(workspace: Workspace, description: string, layerLimit: number) {
    super(description, new ImageStore((layer) => workspace.discard(layer)))
    this.#workspace = workspace
    this.#standby = new Standby(workspace, this.images)
    this.#layerLimit = layerLimit
  }

  override async deleteImage(image: ImageId): Promise<void> {
    this.#standby.forget(image)
    await super.deleteImage(image)
  }

  protected override async inspect(image: ImageId): Promise<MountedImage> {
    const held = this.images.acquire(image)
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

  protected override async boot(image: ImageId, { hostname, id, purpose }: MachineOptions): Promise<Machine> {
    // Of a build's layer there is one machine; of a finished image there will be more.
    const booted = await this.#standby.boot(image, hostname, purpose !== 'build')
    return this.keep(id, {
      channel: booted.vessel.channel,
      copyFiles: async () => {
        const layer = await copyFiles(this.#workspace, booted)
        return this.images.add(await this.#stack(layer, booted.image.layers))
      },
      discard: () => booted.discard(),
    })
  }

  protected override stop(): Promise<void> {
    this.#workspace.abandon()
    return this.#standby.close()
  }

  protected override removeFiles(): Promise<void> {
    return this.#workspace.close()
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
}
