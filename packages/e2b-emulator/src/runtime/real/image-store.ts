import { RuntimeError, type ImageId } from '../port.ts'
import { baseLayer } from './mount-plan.ts'

/** The layers of an image (top first), kept until released. */
export interface HeldImage {
  readonly layers: readonly string[]
  release(): void
}

/**
 * Which image consists of which layers (top first), and who still needs them. A layer may go once no image that was not
 * deleted and no machine holds it.
 */
export class ImageStore {
  readonly #images = new Map<ImageId, readonly string[]>()
  readonly #holders = new Map<string, number>()
  readonly #removeLayer: (layer: string) => void
  #nextImage = 1

  constructor(removeLayer: (layer: string) => void) {
    this.#removeLayer = removeLayer
  }

  add(layers: readonly string[]): ImageId {
    const image: ImageId = `image-${this.#nextImage++}`
    this.#images.set(image, layers)
    this.#hold(layers)
    return image
  }

  has(image: ImageId): boolean {
    return this.#images.has(image)
  }

  /** Throws `not-found`. */
  acquire(image: ImageId): HeldImage {
    const layers = this.#images.get(image)
    if (layers === undefined) throw new RuntimeError('not-found', `no image ${image}`)
    this.#hold(layers)
    let held = true
    return {
      layers,
      release: () => {
        if (held) {
          held = false
          this.#drop(layers)
        }
      },
    }
  }

  delete(image: ImageId): void {
    const layers = this.#images.get(image)
    if (layers === undefined) return
    this.#images.delete(image)
    this.#drop(layers)
  }

  #hold(layers: readonly string[]): void {
    for (const layer of layers) this.#holders.set(layer, (this.#holders.get(layer) ?? 0) + 1)
  }

  #drop(layers: readonly string[]): void {
    for (const layer of layers) {
      const left = (this.#holders.get(layer) ?? 0) - 1
      if (left > 0) this.#holders.set(layer, left)
      else {
        this.#holders.delete(layer)
        if (layer !== baseLayer) this.#removeLayer(layer)
      }
    }
  }
}
