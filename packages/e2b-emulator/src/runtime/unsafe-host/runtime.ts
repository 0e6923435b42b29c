import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { ImageId, Machine, MachineOptions, MountedImage, Runtime } from '../port.ts'
import { ProcessRuntime } from '../process-runtime.ts'
import { ImageStore } from '../real/image-store.ts'
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

class UnsafeHostRuntime extends ProcessRuntime {
  readonly kind = 'unsafe-host'
  readonly #directory: PrivateDirectory

  constructor(directory: PrivateDirectory) {
    super(description, new ImageStore((layer) => directory.discard(layer)))
    this.#directory = directory
  }

  /** The image itself, kept until released. */
  protected override async inspect(image: ImageId): Promise<MountedImage> {
    const held = this.images.acquire(image)
    return { directory: join(this.#directory.path, ...held.layers), release: async () => held.release() }
  }

  protected override async boot(image: ImageId, { id }: MachineOptions): Promise<Machine> {
    const directory = this.#directory
    const name = directory.allocate('machine')
    const [root, scratch] = [join(directory.path, name, 'root'), join(directory.path, name, 'scratch')]
    mkdirSync(scratch, { recursive: true })
    const held = this.images.acquire(image)
    try {
      await directory.copy(join(...held.layers), root)
    } catch (error) {
      directory.discard(name)
      throw error
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
    const body = { channel: companion.channel, copyFiles: () => this.#copy(root), discard }
    return this.keep(id, body, (machine) => below(root, machine))
  }

  /** Nothing runs beside the machines. */
  protected override async stop(): Promise<void> {}

  protected override removeFiles(): Promise<void> {
    return this.#directory.close()
  }

  async #copy(root: string): Promise<ImageId> {
    const layer = this.#directory.allocate('layer')
    try {
      await this.#directory.copy(root, layer)
    } catch (error) {
      this.#directory.discard(layer)
      throw error
    }
    return this.images.add([layer])
  }
}
