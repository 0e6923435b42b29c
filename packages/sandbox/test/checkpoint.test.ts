import { checkpointRef, type E2BSandboxOptions } from '@warmbox/sandbox'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { emulate, type EmulatedPlatform } from './support/emulator.ts'
import { eventTypes, failure, recorder } from './support/index.ts'

describe('checkpoints', () => {
  let platform: EmulatedPlatform
  const started: { destroy(): Promise<void> }[] = []

  beforeAll(async () => {
    platform = await emulate({ runtime: 'scripted' })
  })
  afterEach(async () => {
    await Promise.all(started.splice(0).map((sandbox) => sandbox.destroy()))
  })
  afterAll(() => platform.close())

  const sandboxWith = (options: E2BSandboxOptions) => {
    const sandbox = platform.sandbox(options)
    started.push(sandbox)
    return sandbox
  }

  /** Writes a checkpoint whose file says `content`. */
  const write = async (checkpointName: string, content: string): Promise<void> => {
    const sandbox = sandboxWith({ checkpointName })
    await sandbox.writeFiles([{ path: '/home/user/state', content }])
    await sandbox.snapshot()
  }

  test('hold what a new sandbox of the same checkpoint begins with, the newest only', async () => {
    await write('Project A/main', 'first')
    await write('Project A/main', 'second')
    const { events, onEvent } = recorder()
    const sandbox = sandboxWith({ checkpointName: 'Project A/main', onEvent })

    expect(await sandbox.start()).toEqual({ outcome: 'created' })

    expect((await sandbox.executeCommand('cat /home/user/state')).stdout).toBe('second')
    expect(sandbox.lastBoot).toEqual({ ref: checkpointRef('Project A/main'), rung: 'checkpoint', attempts: [] })
    expect(events).toContainEqual(expect.objectContaining({ type: 'sandbox-created', rung: 'checkpoint' }))
    expect(sandbox.supportsCheckpoints).toBe(true)
  })

  test('that do not exist yet give way to the seed, and that to the template', async () => {
    await write('seed', 'seeded')
    const { events, onEvent } = recorder()
    const seeded = sandboxWith({ checkpointName: 'new', seedCheckpointName: 'seed' })
    const bare = sandboxWith({ checkpointName: 'new', seedCheckpointName: 'none', onEvent })

    await Promise.all([seeded.start(), bare.start()])

    expect(seeded.lastBoot).toMatchObject({ rung: 'seed-checkpoint' })
    expect((await seeded.executeCommand('cat /home/user/state')).stdout).toBe('seeded')
    expect(bare.lastBoot).toMatchObject({ ref: 'base' })
    expect(eventTypes(events).filter((type) => type === 'checkpoint-missing')).toHaveLength(2)
  })

  test('are written under their own name: the seed stays', async () => {
    await write('base checkpoint', 'seeded')
    const session = sandboxWith({ checkpointName: 'session', seedCheckpointName: 'base checkpoint' })
    await session.writeFiles([{ path: '/home/user/state', content: 'changed' }])
    await session.snapshot()

    const [again, fresh] = [
      sandboxWith({ checkpointName: 'session' }),
      sandboxWith({ seedCheckpointName: 'base checkpoint' }),
    ]

    expect((await again.executeCommand('cat /home/user/state')).stdout).toBe('changed')
    expect((await fresh.executeCommand('cat /home/user/state')).stdout).toBe('seeded')
  })

  test('never become what a template of the same name boots', async () => {
    await write('base', 'hijacked')
    const sandbox = sandboxWith({ template: 'base' })

    expect((await sandbox.executeCommand('cat /home/user/state')).exitCode).not.toBe(0)
  })

  test.each([401, 403, 429, 503])('are not passed over where E2B answers %i', async (status) => {
    platform.emulator.control.fault({
      // The oldest SDK asks at the first of the two.
      match: { method: 'POST', path: /^(\/v2)?\/sandboxes$/ },
      times: 1,
      effect: { kind: 'answer', status, message: 'no' },
    })

    await failure(sandboxWith({ checkpointName: 'any' }).start())

    expect(platform.emulator.control.sandboxes()).toEqual([])
  })

  test('have names that differ where theirs do, and that E2B takes', () => {
    const names = ['a', 'A', 'a b', 'a-b', 'ü', '', '-', 'x'.repeat(500), `${'x'.repeat(500)}y`]
    const refs = names.map(checkpointRef)

    expect(new Set(refs).size).toBe(names.length)
    for (const ref of refs) expect(ref).toMatch(/^warmbox-checkpoint-[a-z0-9-]{32,80}:default$/)
  })

  test("are a sandbox's own: a clone inherits the seed alone", async () => {
    await write('mine', 'mine')
    await write('seed of all', 'seed')
    const clone = platform.sandbox({ checkpointName: 'mine', seedCheckpointName: 'seed of all' }).clone()
    started.push(clone)

    expect((await clone.executeCommand('cat /home/user/state')).stdout).toBe('seed')
  })
})
