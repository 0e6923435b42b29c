import type { Schemas } from '../contract.ts'
import { CLIENT_ID, DISK_SIZE_MB } from '../machine-facts.ts'
import { isoTime } from '../platform.ts'
import type { SandboxRecord } from '../state.ts'
import type { VisibleSandbox } from './find.ts'
import { isTransition } from './transition.ts'

/** What create and connect answer. */
export function describeConnection(sandbox: SandboxRecord): Schemas['Sandbox'] {
  return {
    sandboxID: sandbox.id,
    templateID: sandbox.templateId,
    clientID: CLIENT_ID,
    envdVersion: sandbox.envdVersion,
    domain: null,
    ...(sandbox.alias === undefined ? {} : { alias: sandbox.alias }),
    ...(sandbox.envdAccessToken === undefined ? {} : { envdAccessToken: sandbox.envdAccessToken }),
    trafficAccessToken: sandbox.network?.allowPublicTraffic === false ? sandbox.trafficAccessToken : null,
  }
}

/** An entry of a list: neither lifecycle nor network. */
export function describeListed(sandbox: VisibleSandbox): Schemas['ListedSandbox'] {
  return {
    sandboxID: sandbox.id,
    templateID: sandbox.templateId,
    clientID: CLIENT_ID,
    ...(sandbox.alias === undefined ? {} : { alias: sandbox.alias }),
    startedAt: isoTime(sandbox.startedAt),
    endAt: isoTime(endOf(sandbox)),
    state: publicState(sandbox),
    cpuCount: sandbox.cpuCount,
    memoryMB: sandbox.memoryMB,
    diskSizeMB: DISK_SIZE_MB,
    envdVersion: sandbox.envdVersion,
    ...(sandbox.metadata === undefined ? {} : { metadata: sandbox.metadata }),
  }
}

export function describeDetail(sandbox: VisibleSandbox): Schemas['SandboxDetail'] {
  return {
    ...describeListed(sandbox),
    domain: null,
    ...(sandbox.envdAccessToken === undefined ? {} : { envdAccessToken: sandbox.envdAccessToken }),
    lifecycle: { onTimeout: sandbox.lifecycle.onTimeout, autoResume: sandbox.lifecycle.autoResume },
    ...(sandbox.network === undefined ? {} : { network: sandbox.network }),
    allowInternetAccess: sandbox.allowInternetAccess ?? null,
  }
}

/**
 * Transitions have no public name. A pause shows as paused from its beginning to the end of the resume; a sandbox that is
 * being snapshotted runs.
 */
function publicState({ phase }: VisibleSandbox): Schemas['SandboxState'] {
  return phase.name === 'running' || phase.name === 'snapshotting' ? 'running' : 'paused'
}

/** A paused sandbox ended when it was paused. */
function endOf({ phase }: VisibleSandbox): number {
  const settled = isTransition(phase) ? phase.from : phase
  return settled.name === 'running' ? settled.endAt : settled.pausedAt
}
