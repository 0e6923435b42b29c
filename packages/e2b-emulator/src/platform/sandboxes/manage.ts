import { conflict, notFound } from '../api-error.ts'
import type { Platform } from '../platform.ts'
import { route } from '../route.ts'
import type { RunningPhase, SandboxRecord } from '../state.ts'
import { paused, refreshed, timedOut } from './bodies.ts'
import { findSandbox } from './connect.ts'
import { assertTimeout } from './create.ts'
import { describeDetail } from './describe.ts'
import { killSandbox, pauseSandbox, reschedule } from './lifecycle.ts'

const MINIMUM_REFRESH_SECONDS = 15

export const getSandbox = route('get', '/sandboxes/{sandboxID}', {
  handle: (platform, { parameter, reply }) => reply(200, describeDetail(findSandbox(platform, parameter('sandboxID')))),
})

/** Ends a sandbox, running or paused. */
export const deleteSandbox = route('delete', '/sandboxes/{sandboxID}', {
  async handle(platform, { parameter, reply }) {
    await killSandbox(platform, findSandbox(platform, parameter('sandboxID')))
    return reply(204)
  },
})

export const pauseSandboxRoute = route('post', '/sandboxes/{sandboxID}/pause', {
  body: paused,
  async handle(platform, { parameter, body, reply }) {
    const sandbox = findSandbox(platform, parameter('sandboxID'))
    await pauseSandbox(platform, sandbox, { keepMemory: body?.memory !== false })
    return reply(204)
  },
})

/** Sets the end to now plus the timeout, earlier or later, no later than the plan allows from the start. */
export const setTimeoutRoute = route('post', '/sandboxes/{sandboxID}/timeout', {
  body: timedOut,
  handle(platform, { parameter, body, reply }) {
    const { timeout = 0 } = body ?? {}
    const { sandbox, phase } = findRunning(platform, parameter('sandboxID'))
    if (timeout !== 0) assertTimeout(platform, timeout)
    const latest = sandbox.startedAt + platform.limits.sandboxSeconds * 1000
    reschedule(platform, sandbox, phase, Math.min(platform.clock.now() + timeout * 1000, latest))
    return reply(204)
  },
})

/** Extends, never shortens. */
export const refreshSandbox = route('post', '/sandboxes/{sandboxID}/refreshes', {
  body: refreshed,
  handle(platform, { parameter, body, reply }) {
    const { sandbox, phase } = findRunning(platform, parameter('sandboxID'))
    const seconds = Math.max(MINIMUM_REFRESH_SECONDS, body?.duration ?? 0)
    const endAt = platform.clock.now() + seconds * 1000
    if (endAt > phase.endAt) reschedule(platform, sandbox, phase, endAt)
    return reply(204)
  },
})

/** A paused sandbox has no timeout, so it is not found here; one in transition is busy. */
function findRunning(platform: Platform, id: string): { sandbox: SandboxRecord; phase: RunningPhase } {
  const sandbox = findSandbox(platform, id)
  const { phase } = sandbox
  if (phase.name === 'running') return { sandbox, phase }
  if (phase.name === 'paused') throw notFound(`Sandbox '${id}' not found`)
  throw conflict(`Sandbox '${id}' is being changed by another request`)
}
