import { silentLog } from '../../build/build-log.ts'
import { restartInSandbox } from '../../build/start-command.ts'
import type { ImageId, Machine } from '../../runtime/port.ts'
import type { Platform } from '../platform.ts'
import type { BootInstructions } from '../state.ts'

/** A machine over an image, with the start command running as it runs in the memory that the platform keeps. */
export async function bootMachine(
  platform: Platform,
  sandboxId: string,
  image: ImageId,
  boot: BootInstructions,
): Promise<Machine> {
  const machine = await rebootMachine(platform, sandboxId, image)
  if (boot.startCommand === undefined) return machine
  try {
    const { signal } = new AbortController()
    await restartInSandbox({ machine, clock: platform.clock, log: silentLog, signal }, boot)
    return machine
  } catch (error) {
    await machine.destroy()
    throw error
  }
}

/** A machine over an image where nothing runs yet: what the platform boots where there is no memory. */
export async function rebootMachine(platform: Platform, sandboxId: string, image: ImageId): Promise<Machine> {
  const runtime = await platform.runtime()
  const { clock } = platform
  return runtime.createMachine(image, { id: sandboxId, hostname: 'e2b', purpose: 'sandbox', clock })
}
