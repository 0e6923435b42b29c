import type { ImageId } from '../runtime/port.ts'
import type { Platform } from './platform.ts'
import type { PlatformState } from './state.ts'

/** Counts one more holder of an image: a snapshot and the sandbox it was taken of, for example. */
export function shareImage(state: PlatformState, image: ImageId): void {
  state.sharedImages.set(image, (state.sharedImages.get(image) ?? 0) + 1)
}

/** One holder of the image needs it no more; the last one takes it along. */
export async function dropImage(platform: Platform, image: ImageId): Promise<void> {
  const { sharedImages } = platform.state
  const others = sharedImages.get(image) ?? 0
  if (others === 0) return (await platform.runtime()).deleteImage(image)
  if (others === 1) sharedImages.delete(image)
  else sharedImages.set(image, others - 1)
}
