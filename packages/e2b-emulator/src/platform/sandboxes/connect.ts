import { unreachable } from '../../unreachable.ts'
import { ApiError, conflict } from '../api-error.ts'
import type { Platform } from '../platform.ts'
import { route } from '../route.ts'
import { connectV1, connectV2, resumed } from './bodies.ts'
import { describeConnection } from './describe.ts'
import { findAnySandbox } from './find.ts'
import { assertTimeout, resumeWithinPlan } from './launch.ts'
import { reschedule } from './lifecycle.ts'
import { isTransition } from './transition.ts'

const DEFAULT_TIMEOUT_SECONDS = 300
const RESUME_TIMEOUT_SECONDS = 15
/** How many transitions one after another a call waits for before it gives up. */
const MAX_WAITS = 3

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
    const { name } = findAnySandbox(platform, id).phase
    if (name === 'running' || name === 'snapshotting') throw conflict(`Sandbox '${id}' is already running`)
    const { timeout = RESUME_TIMEOUT_SECONDS, memory = true } = body ?? {}
    const { sandbox } = await connect(platform, id, { timeout, keepMemory: memory })
    return reply(201, describeConnection(sandbox))
  },
})

/** Extends a running sandbox, wakes a paused one. Concurrent calls share one resume. */
async function connect(platform: Platform, id: string, options: { timeout: number; keepMemory: boolean }) {
  assertTimeout(platform, options.timeout)
  const sandbox = findAnySandbox(platform, id)
  if (sandbox.phase.name === 'resuming' && !options.keepMemory) {
    throw new ApiError(409, `Sandbox '${id}' is being started already`, { errorCode: 'sandbox_start_in_flight' })
  }
  const wasUp = sandbox.phase.name === 'running' || sandbox.phase.name === 'snapshotting'
  for (let wait = 0; wait < MAX_WAITS && isTransition(sandbox.phase); wait += 1) await sandbox.phase.settled
  const { phase } = sandbox
  switch (phase.name) {
    case 'running': {
      const endAt = platform.clock.now() + options.timeout * 1000
      if (endAt > phase.endAt) reschedule(platform, sandbox, phase, endAt)
      return { sandbox, woken: !wasUp }
    }
    case 'paused':
      await resumeWithinPlan(platform, sandbox, phase, {
        timeoutSeconds: options.timeout,
        keepMemory: options.keepMemory,
      })
      return { sandbox, woken: true }
    case 'killing':
    case 'pausing':
    case 'resuming':
    case 'snapshotting':
      throw conflict(`Sandbox '${id}' cannot be connected to while it is ${phase.name}`)
    default:
      return unreachable(phase)
  }
}
