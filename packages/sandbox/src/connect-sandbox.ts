import type { Sandbox } from 'e2b'
import { abortable } from './abort.ts'
import type { SandboxHost } from './host.ts'
import { errorCode } from './sdk-errors.ts'

/** How long to wait before asking again, in milliseconds; the platform ends a pause or a kill well within the sum. */
const TRANSITION_DELAYS_MS: readonly number[] = [250, 500, 1_000, 2_000, 4_000]

/**
 * Connects, and resumes where paused; the time to live is renewed by it. E2B waits for a pause under way itself, for
 * some time, and answers 409 then and while a sandbox is being killed: both pass. Rejects with the SDK's own errors.
 */
export async function connectSandbox(host: SandboxHost, sandboxId: string, signal: AbortSignal): Promise<Sandbox> {
  const { clock, timeoutMs } = host.options
  const options = { ...host.connection().sdk, timeoutMs, signal }
  for (const delayMs of TRANSITION_DELAYS_MS) {
    try {
      return await abortable(host.connectSdkSandbox(sandboxId, options), signal)
    } catch (error) {
      if (signal.aborted || errorCode(error) !== 'CONFLICT') throw error
      await clock.sleep(delayMs, signal)
    }
  }
  return abortable(host.connectSdkSandbox(sandboxId, options), signal)
}
