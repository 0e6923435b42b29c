import { conflict, notFound } from '../api-error.ts'
import type { Platform } from '../platform.ts'
import type { KillingPhase, RunningPhase, SandboxRecord, SandboxPhase } from '../state.ts'

/** A sandbox that look-ups find. */
export type VisibleSandbox = SandboxRecord & { readonly phase: Exclude<SandboxPhase, KillingPhase> }

export const isVisible = (sandbox: SandboxRecord): sandbox is VisibleSandbox => sandbox.phase.name !== 'killing'

/** The sandbox, or 404 for unknown ones and those that are gone but for their remains. */
export function findSandbox(platform: Platform, id: string): VisibleSandbox {
  const sandbox = findAnySandbox(platform, id)
  if (!isVisible(sandbox)) throw sandboxNotFound(id)
  return sandbox
}

/** The sandbox, one that is being killed included: calls that would change it find a conflict there. */
export function findAnySandbox(platform: Platform, id: string): SandboxRecord {
  const sandbox = platform.state.sandboxes.get(id)
  if (sandbox === undefined) throw sandboxNotFound(id)
  return sandbox
}

/** A paused sandbox has neither timeout nor network, so it is not found here; one in transition is busy. */
export function findRunning(platform: Platform, id: string): { sandbox: SandboxRecord; phase: RunningPhase } {
  const sandbox = findAnySandbox(platform, id)
  const { phase } = sandbox
  if (phase.name === 'running') return { sandbox, phase }
  if (phase.name === 'paused') throw sandboxNotFound(id)
  throw conflict(`Sandbox '${id}' is being changed by another request: ${phase.name}`)
}

const sandboxNotFound = (id: string) => notFound(`Sandbox '${id}' not found`)
