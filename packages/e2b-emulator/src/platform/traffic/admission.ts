import { sandboxNotFoundAnswer } from '../../envd/index.ts'
import { sameSecret } from '../../same-secret.ts'
import { unreachable } from '../../unreachable.ts'
import { ApiError } from '../api-error.ts'
import { ENVD_PORT } from '../machine-facts.ts'
import type { Platform } from '../platform.ts'
import { resumeWithinPlan } from '../sandboxes/launch.ts'
import type { PausedPhase, RunningPhase, SandboxRecord } from '../state.ts'
import {
  invalidPort,
  limitReached,
  resumeDenied,
  stillTransitioning,
  tokenInvalid,
  tokenMissing,
  TRAFFIC_TOKEN_HEADER,
} from './refusals.ts'
import type { SandboxTarget } from './target.ts'

/** How many transitions one after another a request waits for before it is told to come again. */
const MAX_WAITS = 3

/** A sandbox that its traffic woke lives at least so long. */
const MINIMUM_RESUMED_SECONDS = 300

/** A sandbox that runs and lets this request in. */
export interface Admitted {
  readonly sandbox: SandboxRecord
  readonly phase: RunningPhase
}

/**
 * Lets a request in to a running sandbox, waking it first where its lifecycle says so; else the answer of the platform's
 * proxy. Requests that come while it wakes wait for the one resume.
 */
export async function admit(platform: Platform, target: SandboxTarget, headers: Headers): Promise<Admitted | Response> {
  if (Number.isNaN(target.port)) return invalidPort()
  const sandbox = platform.state.sandboxes.get(target.sandboxId)
  if (sandbox === undefined) return sandboxNotFoundAnswer(target.sandboxId)
  for (let waits = 0; ; waits += 1) {
    const { phase } = sandbox
    switch (phase.name) {
      case 'running':
        return trafficRefusal(sandbox, target, headers) ?? { sandbox, phase }
      case 'killing':
        return sandboxNotFoundAnswer(target.sandboxId)
      case 'paused': {
        const refused = await wakeUp(platform, sandbox, phase, target, headers)
        if (refused !== undefined) return refused
        break
      }
      case 'pausing':
      case 'resuming':
        if (!sandbox.lifecycle.autoResume) return sandboxNotFoundAnswer(target.sandboxId)
        if (waits >= MAX_WAITS) return stillTransitioning(target)
        await phase.settled
        break
      case 'snapshotting':
        if (waits >= MAX_WAITS) return stillTransitioning(target)
        await phase.settled
        break
      default:
        return unreachable(phase)
    }
  }
}

/** The daemon checks its own token; every other port is open unless the sandbox is closed to the public. */
function trafficRefusal(sandbox: SandboxRecord, target: SandboxTarget, headers: Headers): Response | undefined {
  if (target.port === ENVD_PORT || !isPrivate(sandbox)) return undefined
  const given = headers.get(TRAFFIC_TOKEN_HEADER) ?? ''
  if (given === '') return tokenMissing(target)
  return sameSecret(given, sandbox.trafficAccessToken) ? undefined : tokenInvalid(target)
}

const isPrivate = ({ network }: SandboxRecord) => network?.allowPublicTraffic === false

/** Resumes the sandbox, or says why not. A pause that dropped memory takes a call of the API to end. */
async function wakeUp(
  platform: Platform,
  sandbox: SandboxRecord,
  phase: PausedPhase,
  target: SandboxTarget,
  headers: Headers,
): Promise<Response | undefined> {
  if (!sandbox.lifecycle.autoResume || phase.kept.kind === 'files') return sandboxNotFoundAnswer(target.sandboxId)
  if (!mayWake(sandbox, target, headers)) return resumeDenied(target)
  const timeoutSeconds = Math.min(
    Math.max(MINIMUM_RESUMED_SECONDS, sandbox.timeoutSeconds),
    platform.limits.sandboxSeconds,
  )
  try {
    await resumeWithinPlan(platform, sandbox, phase, { timeoutSeconds, keepMemory: true })
    return undefined
  } catch (error) {
    // The proxy tells of the limit alone; whatever else keeps a sandbox from waking, it is not there.
    if (error instanceof ApiError && error.status === 429) return limitReached(target, error.message)
    return sandboxNotFoundAnswer(target.sandboxId)
  }
}

function mayWake(sandbox: SandboxRecord, target: SandboxTarget, headers: Headers): boolean {
  const { envdAccessToken } = sandbox
  if (target.port === ENVD_PORT) {
    return envdAccessToken === undefined || sameSecret(headers.get('X-Access-Token') ?? '', envdAccessToken)
  }
  return !isPrivate(sandbox) || sameSecret(headers.get(TRAFFIC_TOKEN_HEADER) ?? '', sandbox.trafficAccessToken)
}
