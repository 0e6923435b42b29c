import {
  RuntimeError,
  type ImageId,
  type Machine,
  type MachineOptions,
  type MountedImage,
  type Runtime,
} from './port.ts'
import type { ImageStore } from './real/image-store.ts'
import { RealMachine, type MachineBody } from './real/machine.ts'
import { baseLayer } from './real/mount-plan.ts'

/** What runtimes of real processes have in common: the machines and images they keep, and an end that leaves neither. */
export abstract class ProcessRuntime implements Runtime {
  abstract readonly kind: Runtime['kind']
  readonly description: string
  protected readonly images: ImageStore
  readonly #booting = new Set<Promise<Machine>>()
  readonly #machines = new Set<Machine>()
  #baseImage: ImageId | undefined
  #closing: Promise<void> | undefined

  constructor(description: string, images: ImageStore) {
    this.description = description
    this.images = images
  }

  /** Boots a machine, which {@link keep} made. */
  protected abstract boot(image: ImageId, options: MachineOptions): Promise<Machine>
  /** Ends what runs beside the machines. Nothing is booted any more. */
  protected abstract stop(): Promise<void>
  /** Removes the files of everything; nothing runs any more. */
  protected abstract removeFiles(): Promise<void>
  protected abstract inspect(image: ImageId): Promise<MountedImage>

  async baseImage(_image: string): Promise<ImageId> {
    this.#assertOpen()
    // Held by its own acquisition, so that an image of this name can be deleted and asked for again.
    this.#baseImage ??= this.images.add([baseLayer])
    return this.#baseImage
  }

  async createMachine(image: ImageId, options: MachineOptions): Promise<Machine> {
    this.#assertOpen()
    const created = this.boot(image, options)
    this.#booting.add(created)
    try {
      return await created
    } finally {
      this.#booting.delete(created)
    }
  }

  async deleteImage(image: ImageId): Promise<void> {
    if (image === this.#baseImage) this.#baseImage = undefined
    this.images.delete(image)
  }

  async inspectImage(image: ImageId): Promise<MountedImage> {
    this.#assertOpen()
    return this.inspect(image)
  }

  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  /** A machine that ends with the runtime. `seen` makes of it what its users see. */
  protected keep(id: string, body: MachineBody, seen: (machine: Machine) => Machine = (machine) => machine): Machine {
    const machine: Machine = seen(
      new RealMachine(id, {
        channel: body.channel,
        copyFiles: () => body.copyFiles(),
        discard: async () => {
          await body.discard()
          this.#machines.delete(machine)
        },
      }),
    )
    this.#machines.add(machine)
    return machine
  }

  async #end(): Promise<void> {
    // Whoever asked for those is told how that went.
    await Promise.allSettled(this.#booting)
    const ended = await Promise.allSettled([this.stop(), ...[...this.#machines].map((machine) => machine.destroy())])
    await this.removeFiles()
    const failed = ended.find((result) => result.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new RuntimeError('gone', 'the runtime was closed')
  }
}
