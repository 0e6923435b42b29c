import { conflict, notFound } from '../api-error.ts'
import type { Platform } from '../platform.ts'
import { route } from '../route.ts'
import type { SandboxRecord } from '../state.ts'
import { connectV1, connectV2, resumed } from './bodies.ts'
import { assertTimeout, reserveSlot } from './create.ts'
import { describeConnection } from './describe.ts'
import { reschedule, resumeSandbox, settle } from './lifecycle.ts'

const DEFAULT_TIMEOUT_SECONDS = 300
const RESUME_TIMEOUT_SECONDS = 15

export const connectSandbox = route('post', '/v2/sandboxes/{sandboxID}/connect', {
  body: connectV2,
  async handle(platform, { parameter, body = {}, reply }) {
    const { timeout = DEFAULT_TIMEOUT_SECONDS, memory = true } = body
    const { sandbox, woken } = await connect(platform, parameter('sandboxID'), { timeout, keepMemory: memory })
    return reply(woken ? 201 : 200, describeConnection(sandbox))
  },
})

export const connectSandboxV1 = route('post', '/sandboxes/{sandboxID}/connect', {
  body: connectV1,
  async handle(platform, { parameter, body, reply }) {
    const { timeout, memory = true } = body
    const { sandbox, woken } = await connect(platform, parameter('sandboxID'), { timeout, keepMemory: memory })
    return reply(woken ? 201 : 200, describeConnection(sandbox))
  },
})

/** The older call: refused where the sandbox already runs. */
export const resumeSandboxV1 = route('post', '/sandboxes/{sandboxID}/resume', {
  body: resumed,
  gap: 'autoPause is ignored',
  async handle(platform, { parameter, body, reply }) {
    const id = parameter('sandboxID')
    if (findSandbox(platform, id).phase.name === 'running') throw conflict(`Sandbox '${id}' is already running`)
    const { timeout = RESUME_TIMEOUT_SECONDS, memory = true } = body ?? {}
    const { sandbox } = await connect(platform, id, { timeout, keepMemory: memory })
    return reply(201, describeConnection(sandbox))
  },
})

/** The sandbox, or 404: unknown and killed ones look the same. */
export function findSandbox(platform: Platform, id: string): SandboxRecord {
  const sandbox = platform.state.sandboxes.get(id)
  if (sandbox === undefined) throw notFound(`Sandbox '${id}' not found`)
  return sandbox
}

/** Extends a running sandbox, wakes a paused one. Concurrent calls share one resume. */
async function connect(platform: Platform, id: string, options: { timeout: number; keepMemory: boolean }) {
  assertTimeout(platform, options.timeout)
  const sandbox = findSandbox(platform, id)
  const wasRunning = sandbox.phase.name === 'running'
  await settle(sandbox)
  const endAt = platform.clock.now() + options.timeout * 1000
  // Killed while it was on its way: gone.
  findSandbox(platform, id)
  const { phase } = sandbox
  if (phase.name === 'running') {
    if (endAt > phase.endAt) reschedule(platform, sandbox, phase, endAt)
    return { sandbox, woken: !wasRunning }
  }
  if (phase.name !== 'paused') throw conflict(`Sandbox '${id}' is being changed by another request`)
  const release = reserveSlot(platform)
  try {
    await resumeSandbox(platform, sandbox, phase, { endAt, keepMemory: options.keepMemory })
    return { sandbox, woken: true }
  } finally {
    release()
  }
}
