import type { ImageId } from '../../runtime/port.ts'
import { badRequest, quotaExceeded } from '../api-error.ts'
import { secretToken } from '../identifiers.ts'
import type { Platform } from '../platform.ts'
import type { PausedPhase, SandboxRecord, SandboxTraits } from '../state.ts'
import { assertEnvd } from '../templates/envd-version.ts'
import { bootMachine } from './boot.ts'
import { endWith, resumeSandbox, runningPhase } from './lifecycle.ts'

/** Boots a sandbox over an image and registers it once it runs. 429 at the limit of the plan. */
export async function launchSandbox(
  platform: Platform,
  traits: SandboxTraits,
  options: { readonly secure: boolean; readonly timeoutSeconds: number; readonly image: ImageId },
): Promise<SandboxRecord> {
  const { secure, timeoutSeconds, image } = options
  if (secure) assertEnvd(platform, 'secured', 'secured access')
  const id = platform.identifiers.sandbox()
  const release = reserveSlot(platform)
  try {
    const machine = await bootMachine(platform, id, image, traits.boot)
    const since = platform.clock.now()
    const sandbox: SandboxRecord = {
      ...traits,
      id,
      envdAccessToken: secure ? secretToken() : undefined,
      trafficAccessToken: secretToken(),
      startedAt: since,
      envdVersion: platform.envdVersion,
      timeoutSeconds,
      phase: runningPhase(platform, id, { machine, since, endAt: since + timeoutSeconds * 1000 }),
      stored: undefined,
    }
    platform.state.sandboxes.set(id, sandbox)
    endWith(platform, id, machine)
    return sandbox
  } finally {
    release()
  }
}

/** Resumes a paused sandbox, which takes a slot again: 429 where none is left. */
export async function resumeWithinPlan(
  platform: Platform,
  sandbox: SandboxRecord,
  phase: PausedPhase,
  options: { readonly timeoutSeconds: number; readonly keepMemory: boolean },
): Promise<void> {
  const release = reserveSlot(platform)
  try {
    await resumeSandbox(platform, sandbox, phase, options)
  } finally {
    release()
  }
}

/** Refuses a life that is not positive or longer than the plan allows. */
export function assertTimeout(platform: Platform, seconds: number): void {
  if (seconds <= 0) throw badRequest('Timeout must be greater than 0')
  if (seconds > platform.limits.sandboxSeconds) {
    throw badRequest(`Timeout cannot be greater than ${platform.limits.sandboxSeconds / 3600} hours`)
  }
}

/** Counts against the concurrency limit until released; by then the sandbox counts for itself. */
function reserveSlot(platform: Platform): () => void {
  const running = [...platform.state.sandboxes.values()].filter(
    ({ phase }) => phase.name === 'running' || phase.name === 'snapshotting',
  ).length
  const { concurrentSandboxes } = platform.limits
  if (running + platform.state.starting.size >= concurrentSandboxes) {
    throw quotaExceeded(`you have reached the maximum number of concurrent E2B sandboxes (${concurrentSandboxes})`)
  }
  const slot = Symbol('starting sandbox')
  platform.state.starting.add(slot)
  return () => platform.state.starting.delete(slot)
}
