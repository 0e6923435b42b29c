import { RuntimeError, type ImageId } from '../port.ts'
import { baseLayer } from './mount-plan.ts'

/**
 * Which image consists of which layers (top first), and who still needs them. A layer may go once no image that was not
 * deleted and no machine holds it.
 */
export class ImageStore {
  readonly #images = new Map<ImageId, readonly string[]>()
  readonly #holders = new Map<string, number>()
  readonly #removeLayer: (layer: string) => Promise<void>
  #nextImage = 1

  constructor(removeLayer: (layer: string) => Promise<void>) {
    this.#removeLayer = removeLayer
  }

  add(layers: readonly string[]): ImageId {
    const image: ImageId = `image-${this.#nextImage++}`
    this.#images.set(image, layers)
    this.#hold(layers)
    return image
  }

  /** The layers of an image, kept until released. Throws `not-found`. */
  acquire(image: ImageId): { readonly layers: readonly string[]; release(): Promise<void> } {
    const layers = this.#images.get(image)
    if (layers === undefined) throw new RuntimeError('not-found', `no image ${image}`)
    this.#hold(layers)
    let held = true
    return {
      layers,
      release: async () => {
        if (held) {
          held = false
          await this.#drop(layers)
        }
      },
    }
  }

  async delete(image: ImageId): Promise<void> {
    const layers = this.#images.get(image)
    if (layers === undefined) return
    this.#images.delete(image)
    await this.#drop(layers)
  }

  #hold(layers: readonly string[]): void {
    for (const layer of layers) this.#holders.set(layer, (this.#holders.get(layer) ?? 0) + 1)
  }

  async #drop(layers: readonly string[]): Promise<void> {
    for (const layer of layers) {
      const left = (this.#holders.get(layer) ?? 0) - 1
      if (left > 0) this.#holders.set(layer, left)
      else {
        this.#holders.delete(layer)
        if (layer !== baseLayer) await this.#removeLayer(layer)
      }
    }
  }
}
