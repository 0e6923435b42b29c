import { createManualClock } from '@warmbox/e2b-emulator'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { emulate, type EmulatedPlatform } from './support/emulator.ts'

let platform: EmulatedPlatform
const clock = createManualClock()

beforeAll(async () => {
  platform = await emulate({ runtime: 'scripted', clock })
})
afterAll(() => platform.close())

const content = async (sandbox: ReturnType<EmulatedPlatform['sandbox']>): Promise<string> =>
  (await sandbox.executeCommand('cat /home/user/state')).stdout

test('what E2B keeps of a sandbox that was paused once and killed by its timeout is the session, in its older state', async () => {
  const options = { id: 'remnant', timeout: 60_000, lifecycle: { onTimeout: 'kill' as const } }
  const sandbox = platform.sandbox(options)
  await sandbox.writeFiles([{ path: '/home/user/state', content: 'older' }])
  await sandbox.stop()
  await sandbox.writeFiles([{ path: '/home/user/state', content: 'newer' }])
  const { sandboxId } = sandbox
  await platform.emulator.control.advance(120_000)

  // The one that held the handle finds out with its next command; another process by looking the id up.
  expect(await content(sandbox)).toBe('older')
  expect(await content(platform.sandbox(options))).toBe('older')

  expect(sandbox.sandboxId).toBe(sandboxId)
  expect(platform.emulator.control.sandboxes()).toMatchObject([{ sandboxID: sandboxId, state: 'running' }])
  await sandbox.destroy()
  expect(platform.emulator.control.sandboxes()).toEqual([])
})
