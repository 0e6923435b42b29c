import { route } from '../route.ts'
import { paused, refreshed, timedOut } from './bodies.ts'
import { describeDetail } from './describe.ts'
import { findAnySandbox, findRunning, findSandbox } from './find.ts'
import { killSandbox, pauseSandbox, reschedule } from './lifecycle.ts'

const MINIMUM_REFRESH_SECONDS = 15

export const getSandbox = route('get', '/sandboxes/{sandboxID}', {
  handle: (platform, { parameter, reply }) => reply(200, describeDetail(findSandbox(platform, parameter('sandboxID')))),
})

/** Ends a sandbox, running or paused. */
export const deleteSandbox = route('delete', '/sandboxes/{sandboxID}', {
  async handle(platform, { parameter, reply }) {
    await killSandbox(platform, findAnySandbox(platform, parameter('sandboxID')), 'request')
    return reply(204)
  },
})

export const pauseSandboxRoute = route('post', '/sandboxes/{sandboxID}/pause', {
  body: paused,
  async handle(platform, { parameter, body, reply }) {
    const sandbox = findAnySandbox(platform, parameter('sandboxID'))
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
    reschedule(platform, sandbox, phase, platform.clock.now() + timeout * 1000)
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
