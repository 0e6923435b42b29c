import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { RuntimeError, type ImageId, type Machine, type MachineOptions, type Runtime } from '../port.ts'
import { ImageStore } from '../real/image-store.ts'
import { RealMachine } from '../real/machine.ts'
import { baseLayer } from '../real/mount-plan.ts'
import { writeBaseTree } from './base-tree.ts'
import { below } from './below.ts'
import { startCompanion } from './companion.ts'
import { createPrivateDirectory, type PrivateDirectory } from './private-directory.ts'
import { assertUnsafeHostAllowed } from './refusal.ts'

export interface UnsafeHostOptions {
  /** Where images and machines are kept; a directory of the runtime's own is made in it and removed by `close`. */
  readonly dataDirectory: string
  /** PEM certificates that commands trust besides those of the host. */
  readonly certificateAuthorities: readonly string[]
}

const description =
  'UNSAFE: nothing confines commands; they run as plain processes of this user, and absolute paths in them are those ' +
  'of this machine. Files of machines are plain copies below a private directory'

/**
 * Machines as plain processes of the host, for hosts without namespaces. Throws what {@link assertUnsafeHostAllowed}
 * throws, and warns this process's user.
 *
 * A process that dies without calling `close` leaves no process and no directory behind.
 */
export function createUnsafeHostRuntime(options: UnsafeHostOptions): Runtime {
  assertUnsafeHostAllowed()
  process.emitWarning('Sandboxes run UNCONFINED: their commands can read, change and delete whatever this user can.', {
    type: 'UnsafeHostWarning',
    code: 'WARMBOX_UNSAFE_HOST',
    detail: 'Run nothing in them that you would not run in your own shell.',
  })
  const directory = createPrivateDirectory(options.dataDirectory)
  writeBaseTree(join(directory.path, baseLayer), options.certificateAuthorities)
  return new UnsafeHostRuntime(directory)
}

class UnsafeHostRuntime implements Runtime {
  readonly kind = 'unsafe-host'
  readonly description = description
  readonly #directory: PrivateDirectory
  readonly #images: ImageStore
  readonly #booting = new Set<Promise<Machine>>()
  readonly #machines = new Set<Machine>()
  #baseImage: ImageId | undefined
  #closing: Promise<void> | undefined

  constructor(directory: PrivateDirectory) {
    this.#directory = directory
    this.#images = new ImageStore((layer) => directory.discard(layer))
  }

  async baseImage(_image: string): Promise<ImageId> {
    this.#assertOpen()
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
    this.#images.delete(image)
  }

  /** The image itself, kept until released. */
  async inspectImage(image: ImageId) {
    this.#assertOpen()
    const held = this.#images.acquire(image)
    return { directory: join(this.#directory.path, ...held.layers), release: async () => held.release() }
  }

  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  async #boot(image: ImageId, { id }: MachineOptions): Promise<Machine> {
    const directory = this.#directory
    const name = directory.allocate('machine')
    const [root, scratch] = [join(directory.path, name, 'root'), join(directory.path, name, 'scratch')]
    mkdirSync(scratch, { recursive: true })
    const held = this.#images.acquire(image)
    try {
      await directory.copy(join(...held.layers), root)
    } finally {
      held.release()
    }
    const companion = startCompanion({
      root,
      scratch,
      mark: { environment: `${directory.marker}${name}/`, directory: join(directory.path, name) },
    })
    const discard = async () => {
      await companion.kill()
      directory.discard(name)
    }
    try {
      await companion.channel.request('prepare', null)
    } catch (error) {
      await discard()
      throw error
    }
    const machine = below(
      root,
      new RealMachine(id, {
        channel: companion.channel,
        copyFiles: () => this.#keep(root),
        discard: async () => {
          await discard()
          this.#machines.delete(machine)
        },
      }),
    )
    this.#machines.add(machine)
    return machine
  }

  async #keep(root: string): Promise<ImageId> {
    const layer = this.#directory.allocate('layer')
    try {
      await this.#directory.copy(root, layer)
    } catch (error) {
      this.#directory.discard(layer)
      throw error
    }
    return this.#images.add([layer])
  }

  async #end(): Promise<void> {
    // Whoever asked for those is told how that went.
    await Promise.allSettled(this.#booting)
    const ended = await Promise.allSettled([...this.#machines].map((machine) => machine.destroy()))
    await this.#directory.close()
    const failed = ended.find((result) => result.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new RuntimeError('gone', 'the runtime was closed')
  }
}
