import type { ImageId } from '../port.ts'
import type { ImageStore } from './image-store.ts'
import { bootMachine, type BootedMachine } from './machine-boot.ts'
import { startVessel, type Vessel } from './vessel.ts'
import type { Workspace } from './workspace.ts'

/** Until spares are made, so that a machine's first command goes first. */
const delayMs = 20

interface Spare {
  readonly image: ImageId
  readonly hostname: string
  /** Undefined where it could not be made; whoever boots the next machine meets the reason again. */
  readonly machine: Promise<BootedMachine | undefined>
}

/**
 * Boots machines, and keeps two spares because most of a boot needs not be waited for: processes without a root, for a
 * machine of any image, and a complete machine of the image the last sandbox was made from, in which nothing ran yet.
 * Nothing is started before the first machine is asked for.
 */
export class Standby {
  readonly #workspace: Workspace
  readonly #images: ImageStore
  #vessel: Vessel | undefined
  #spare: Spare | undefined
  #timer: NodeJS.Timeout | undefined
  /** What {@link forget} and a change of image let go of in the background. */
  readonly #leaving = new Set<Promise<void>>()
  #closed = false

  constructor(workspace: Workspace, images: ImageStore) {
    this.#workspace = workspace
    this.#images = images
  }

  /** A machine that stands. `again`: another of this image is likely. Rejects with `not-found` and `failed`. */
  async boot(image: ImageId, hostname: string, again: boolean): Promise<BootedMachine> {
    const booted = (await this.#takeSpare(image, hostname)) ?? (await this.#bootNow(image, hostname))
    this.#schedule(() => this.#replenish(again ? { image, hostname } : undefined))
    return booted
  }

  /** Lets go of the spare of an image that is about to be deleted. */
  forget(image: ImageId): void {
    if (this.#spare?.image === image) this.#dropSpare()
  }

  /** Ends the spares; none follows. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#dropSpare()
    await Promise.all([this.#vessel?.kill(), ...this.#leaving])
  }

  async #takeSpare(image: ImageId, hostname: string): Promise<BootedMachine | undefined> {
    const spare = this.#spare
    if (spare?.image !== image || spare.hostname !== hostname) return undefined
    this.#spare = undefined
    const machine = await spare.machine
    if (machine === undefined || (await machine.vessel.answers())) return machine
    await machine.discard()
    return undefined
  }

  async #bootNow(image: ImageId, hostname: string): Promise<BootedMachine> {
    const held = this.#images.acquire(image)
    const kept = this.#vessel?.alive ? this.#vessel : undefined
    this.#vessel = undefined
    if (kept === undefined) return bootMachine(this.#workspace, startVessel(this.#workspace), held, hostname)
    try {
      return await bootMachine(this.#workspace, kept, held, hostname)
    } catch (error) {
      // Its processes may have ended while it waited, so a new one decides.
      if (this.#closed || !this.#images.has(image)) throw error
      return bootMachine(this.#workspace, startVessel(this.#workspace), this.#images.acquire(image), hostname)
    }
  }

  #replenish(wanted: Omit<Spare, 'machine'> | undefined): void {
    const { image, hostname } = this.#spare ?? {}
    // Where machines are copies, a spare would take the disk space of one.
    const overlays = this.#workspace.plan.storage === 'overlay'
    if (overlays && wanted !== undefined && this.#images.has(wanted.image)) {
      if (image !== wanted.image || hostname !== wanted.hostname) {
        this.#dropSpare()
        // Whoever wants a machine then boots it, and is told of what fails there.
        const machine = this.#bootNow(wanted.image, wanted.hostname).catch(() => undefined)
        this.#spare = { ...wanted, machine }
      }
    }
    if (!this.#vessel?.alive) this.#vessel = startVessel(this.#workspace)
  }

  #dropSpare(): void {
    const spare = this.#spare
    if (spare === undefined) return
    this.#spare = undefined
    const leaving = spare.machine.then((machine) => machine?.discard()).finally(() => this.#leaving.delete(leaving))
    this.#leaving.add(leaving)
  }

  #schedule(work: () => void): void {
    if (this.#closed) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(work, delayMs).unref()
  }
}
