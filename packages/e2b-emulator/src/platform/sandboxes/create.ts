import { badRequest, quotaExceeded } from '../api-error.ts'
import type { Schemas } from '../contract.ts'
import { secretToken } from '../identifiers.ts'
import type { Platform } from '../platform.ts'
import { route } from '../route.ts'
import type { SandboxLifecycle, SandboxRecord } from '../state.ts'
import { bootableBuild } from '../templates/resolve.ts'
import { parseTemplateRef } from '../template-ref.ts'
import { newSandboxV1, newSandboxV2 } from './bodies.ts'
import { describeConnection } from './describe.ts'
import { bootMachine, runningPhase } from './lifecycle.ts'

const V2_TIMEOUT_SECONDS = 300
const V1_TIMEOUT_SECONDS = 15
const RECORDED_ONLY = 'network and IAM are recorded, not enforced; no volumes'

export const createSandbox = route('post', '/v2/sandboxes', {
  body: newSandboxV2,
  gap: RECORDED_ONLY,
  async handle(platform, { body, reply }) {
    const sandbox = await create(platform, body, { secure: true, timeout: body.timeout ?? V2_TIMEOUT_SECONDS })
    return reply(201, describeConnection(sandbox))
  },
})

/** What SDKs before 2.51 call: secured only on request, and short-lived unless told otherwise. */
export const createSandboxV1 = route('post', '/sandboxes', {
  body: newSandboxV1,
  gap: RECORDED_ONLY,
  async handle(platform, { body, reply }) {
    const sandbox = await create(platform, body, {
      secure: body.secure === true,
      timeout: body.timeout ?? V1_TIMEOUT_SECONDS,
    })
    return reply(201, describeConnection(sandbox))
  },
})

async function create(
  platform: Platform,
  body: Schemas['NewSandboxV2'],
  options: { secure: boolean; timeout: number },
): Promise<SandboxRecord> {
  const ref = parseTemplateRef(body.templateID)
  const lifecycle = lifecycleOf(body)
  assertTimeout(platform, options.timeout)
  if ((body.volumeMounts ?? []).length > 0) throw badRequest('volumes are not emulated')
  const { template, build, artifact } = bootableBuild(platform, ref)
  const release = reserveSlot(platform)
  try {
    const id = platform.identifiers.sandbox()
    const made = await artifact()
    const machine = await bootMachine(platform, id, build, made)
    const startedAt = platform.clock.now()
    const sandbox: SandboxRecord = {
      id,
      templateId: template.id,
      buildId: build.id,
      alias: template.name,
      cpuCount: build.cpuCount,
      memoryMB: build.memoryMB,
      envdAccessToken: options.secure ? secretToken() : undefined,
      trafficAccessToken: secretToken(),
      metadata: body.metadata,
      network: body.network,
      allowInternetAccess: body.allow_internet_access,
      lifecycle,
      context: made.context,
      envs: { E2B_SANDBOX: 'true', E2B_SANDBOX_ID: id, E2B_TEMPLATE_ID: template.id, ...body.envVars },
      startedAt,
      phase: runningPhase(platform, id, machine, startedAt + options.timeout * 1000),
    }
    platform.state.sandboxes.set(id, sandbox)
    template.spawnCount += 1
    template.lastSpawnedAt = startedAt
    return sandbox
  } finally {
    release()
  }
}

function lifecycleOf(body: Schemas['NewSandboxV2']): SandboxLifecycle {
  const onTimeout = body.autoPause === true ? 'pause' : 'kill'
  const keepMemory = body.autoPauseMemory !== false
  const autoResume = body.autoResume?.enabled === true
  if (autoResume && onTimeout !== 'pause') throw badRequest('autoResume requires autoPause to be enabled')
  if (autoResume && !keepMemory) throw badRequest('autoResume cannot be combined with autoPauseMemory: false')
  return { onTimeout, keepMemory, autoResume }
}

/** Refuses a life that is not positive or longer than the plan allows. */
export function assertTimeout(platform: Platform, seconds: number): void {
  if (seconds <= 0) throw badRequest('Timeout must be greater than 0')
  if (seconds > platform.limits.sandboxSeconds) {
    throw badRequest(`Timeout cannot be greater than ${platform.limits.sandboxSeconds / 3600} hours`)
  }
}

/** Counts against the concurrency limit until released; by then the sandbox counts for itself. */
export function reserveSlot(platform: Platform): () => void {
  const running = [...platform.state.sandboxes.values()].filter(({ phase }) => phase.name === 'running').length
  const { concurrentSandboxes } = platform.limits
  if (running + platform.state.starting.size >= concurrentSandboxes) {
    throw quotaExceeded(`you have reached the maximum number of concurrent E2B sandboxes (${concurrentSandboxes})`)
  }
  const slot = Symbol('starting sandbox')
  platform.state.starting.add(slot)
  return () => platform.state.starting.delete(slot)
}
