import { badRequest } from '../api-error.ts'
import type { Schemas } from '../contract.ts'
import type { Platform } from '../platform.ts'
import { route } from '../route.ts'
import type { SandboxLifecycle, SandboxRecord, SandboxTraits } from '../state.ts'
import { bootableBuild } from '../templates/resolve.ts'
import { parseTemplateRef } from '../template-ref.ts'
import { newSandboxV1, newSandboxV2 } from './bodies.ts'
import { describeConnection } from './describe.ts'
import { assertTimeout, launchSandbox } from './launch.ts'
import { checkEgress } from './network.ts'

const V2_TIMEOUT_SECONDS = 300
const V1_TIMEOUT_SECONDS = 15
const RECORDED_ONLY = 'egress rules and IAM are recorded, not enforced; no volumes'

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
  if (body.network !== undefined) checkEgress(body.network)
  const { template, build, artifact } = bootableBuild(platform, ref)
  const { image, ...boot } = await artifact()
  const traits: SandboxTraits = {
    templateId: template.id,
    buildId: build.id,
    alias: template.name,
    cpuCount: build.cpuCount,
    memoryMB: build.memoryMB,
    metadata: body.metadata,
    network: body.network,
    allowInternetAccess: body.allow_internet_access,
    lifecycle,
    boot,
    envs: body.envVars ?? {},
  }
  const sandbox = await launchSandbox(platform, traits, {
    secure: options.secure,
    timeoutSeconds: options.timeout,
    image,
  })
  template.spawnCount += 1
  template.lastSpawnedAt = sandbox.startedAt
  return sandbox
}

function lifecycleOf(body: Schemas['NewSandboxV2']): SandboxLifecycle {
  const onTimeout = body.autoPause === true ? 'pause' : 'kill'
  const keepMemory = body.autoPauseMemory !== false
  const autoResume = body.autoResume?.enabled === true
  if (autoResume && onTimeout !== 'pause') throw badRequest('autoResume requires autoPause to be enabled')
  if (autoResume && !keepMemory) throw badRequest('autoResume cannot be combined with autoPauseMemory: false')
  return { onTimeout, keepMemory, autoResume }
}
