import { ApiError, badRequest, conflict } from '../api-error.ts'
import type { ImageId } from '../../runtime/port.ts'
import type { Schemas } from '../contract.ts'
import { dropImage } from '../images.ts'
import type { Platform } from '../platform.ts'
import { route } from '../route.ts'
import type { SandboxRecord } from '../state.ts'
import { forked } from './bodies.ts'
import { assertEnvd } from '../templates/envd-version.ts'
import { describeConnection } from './describe.ts'
import { findAnySandbox } from './find.ts'
import { assertTimeout, launchSandbox } from './launch.ts'
import { checkpoint } from './lifecycle.ts'

const DEFAULT_TIMEOUT_SECONDS = 15
const MAX_COUNT = 100

/** Copies of a running sandbox under ids of their own; each succeeds or fails for itself. */
export const forkSandbox = route('post', '/sandboxes/{sandboxID}/fork', {
  body: forked,
  gap: 'memory is not copied: the start command runs anew',
  async handle(platform, { parameter, body, reply }) {
    const { count = 1, timeout = DEFAULT_TIMEOUT_SECONDS } = body ?? {}
    assertTimeout(platform, timeout)
    assertCount(platform, count)
    const sandbox = findAnySandbox(platform, parameter('sandboxID'))
    if (sandbox.phase.name === 'paused') {
      throw conflict(`Sandbox '${sandbox.id}' is paused and cannot be forked; resume it first`)
    }
    assertEnvd(platform, 'snapshots', 'forks')
    const image = await checkpoint(platform, sandbox, 'forked')
    try {
      const forks = Array.from({ length: count }, () => startFork(platform, sandbox, image, timeout))
      return reply(201, await Promise.all(forks))
    } finally {
      await dropImage(platform, image)
    }
  },
})

function assertCount(platform: Platform, count: number): void {
  if (count < 1) throw badRequest('Count must be at least 1')
  if (count > MAX_COUNT) throw badRequest(`Count cannot be greater than ${MAX_COUNT}`)
  const { concurrentSandboxes } = platform.limits
  // The original goes on and holds a slot itself.
  if (count >= concurrentSandboxes) {
    throw badRequest(`Count must be lower than the maximum number of concurrent sandboxes (${concurrentSandboxes})`)
  }
}

async function startFork(
  platform: Platform,
  original: SandboxRecord,
  image: ImageId,
  timeoutSeconds: number,
): Promise<Schemas['SandboxForkResult']> {
  const secure = original.envdAccessToken !== undefined
  try {
    return { sandbox: describeConnection(await launchSandbox(platform, original, { secure, timeoutSeconds, image })) }
  } catch (error) {
    const { status, message } =
      error instanceof ApiError
        ? error
        : { status: 500, message: error instanceof Error ? error.message : String(error) }
    return { error: { code: status, message } }
  }
}
