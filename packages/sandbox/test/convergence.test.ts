import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createEmulator, type Emulator, type LoopbackServer } from '@warmbox/e2b-emulator'
import { E2BSandbox, type E2BSandboxOptions } from '@warmbox/sandbox'
import { createAttemptId } from '@warmbox/resolution'
import { Sandbox } from 'e2b'
import { http, passthrough } from 'msw'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openGate } from './support/gate.ts'
import { network } from './support/network.ts'

/** Set where minutes count more than the last test; `pnpm test` alone runs all. */
const isShort = process.env['WARMBOX_SHORT_TESTS'] === '1'

const SESSIONS = 200

let emulator: Emulator
let server: LoopbackServer

beforeAll(async () => {
  emulator = createEmulator({ runtime: 'scripted', limits: { concurrentSandboxes: 2 * SESSIONS } })
  server = await emulator.listen()
})
beforeEach(() => network.use(http.all('http://127.0.0.1:*/*', () => passthrough())))
afterAll(async () => {
  await server.close()
  await emulator.close()
})

const sandboxOf = (options: E2BSandboxOptions): E2BSandbox =>
  new E2BSandbox({ ...server.connection, template: 'base', ...options })

/** What the platform holds of a session, paused or running. */
const idsOf = (id: string): string[] =>
  emulator.control
    .sandboxes()
    .filter(({ metadata }) => metadata?.['mastra-sandbox-id'] === id)
    .map(({ sandboxID }) => sandboxID)

const timers = (): number => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length

describe('in one process', () => {
  test(`${SESSIONS} starts of distinct ids at once are ${SESSIONS} sandboxes, and leave no timer behind`, async () => {
    const before = timers()
    const sandboxes = Array.from({ length: SESSIONS }, (_, index) => sandboxOf({ id: `distinct-${index}` }))

    await Promise.all(sandboxes.map((sandbox) => sandbox.start()))

    const ids = sandboxes.map(({ sandboxId }) => sandboxId)
    expect(new Set(ids).size).toBe(SESSIONS)
    expect(new Set(emulator.control.sandboxes().map(({ sandboxID }) => sandboxID))).toEqual(new Set(ids))
    await Promise.all(sandboxes.map((sandbox) => sandbox.destroy()))
    expect(emulator.control.sandboxes()).toEqual([])
    await expect.poll(timers, { timeout: 20_000 }).toBeLessThanOrEqual(before + 5)
  }, 120_000)

  test('50 starts of one id at once are one sandbox', async () => {
    const sandboxes = Array.from({ length: 50 }, () => sandboxOf({ id: 'shared' }))

    await Promise.all(sandboxes.map((sandbox) => sandbox.start()))

    expect(idsOf('shared')).toHaveLength(1)
    expect(new Set(sandboxes.map(({ sandboxId }) => sandboxId))).toEqual(new Set(idsOf('shared')))
    await sandboxes[0]?.destroy()
  }, 60_000)
})

describe.skipIf(isShort)('in several processes', () => {
  const hosts = new Set<ChildProcess>()
  afterEach(async () => {
    await Promise.all([...hosts].map(kill))
  })

  const kill = async (host: ChildProcess): Promise<void> => {
    hosts.delete(host)
    if (host.exitCode !== null || host.signalCode !== null) return
    const exited = once(host, 'exit')
    host.kill('SIGKILL')
    await exited
  }

  /** A process that waits for `go`. */
  async function hostOf(options: E2BSandboxOptions, steps: readonly string[]) {
    const script = join(import.meta.dirname, 'support/session-process.ts')
    const task = JSON.stringify({ options: { ...server.connection, template: 'base', ...options }, steps })
    const host = spawn(process.execPath, ['--conditions=@warmbox/source', script, task], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    hosts.add(host)
    const lines = createInterface({ input: host.stdout })[Symbol.asyncIterator]()
    expect((await lines.next()).value).toBe('ready')
    return { host, lines, go: () => host.stdin.end('go\n') }
  }

  test('4 starts of one id at once are one sandbox after settling, which all of them use', async () => {
    const racers = await Promise.all([1, 2, 3, 4].map(() => hostOf({ id: 'race' }, ['start', 'command'])))
    for (const { go } of racers) go()

    const used = await Promise.all(
      racers.map(async ({ lines }) => {
        await lines.next()
        const settled: { sandboxId: string } = JSON.parse((await lines.next()).value ?? '')
        return settled.sandboxId
      }),
    )

    expect(idsOf('race')).toHaveLength(1)
    expect(new Set(used)).toEqual(new Set(idsOf('race')))
  }, 120_000)

  /** Lookup, create, look for rivals; pause; connect; kill. */
  const STEPS = ['start', 'command', 'stop', 'start', 'destroy']
  const CALLS = 6
  const cuts = Array.from({ length: CALLS }, (_, index) => index + 1).flatMap((request) => [
    { request, when: 'before' as const },
    { request, when: 'after' as const },
  ])

  test.each(cuts)(
    'killed $when call $request of start, stop, start and destroy, the next process has one sandbox',
    async (cut) => {
      const id = `killed-${cut.when}-${cut.request}`
      const gate = await openGate(emulator, cut)
      const { host, go } = await hostOf({ id, apiUrl: gate.url }, STEPS)
      go()
      await Promise.race([gate.held, once(host, 'exit').then(() => Promise.reject(new Error('It ended by itself')))])
      await kill(host)
      await gate.close()

      const successor = sandboxOf({ id })
      await successor.start()
      await successor.executeCommand('true')

      expect(idsOf(id)).toEqual([successor.sandboxId])
      await successor.destroy()
      expect(idsOf(id)).toEqual([])
    },
    60_000,
  )

  test('a sandbox that a process left between its create and its look for rivals is ended by the next start', async () => {
    const kept = sandboxOf({ id: 'twice' })
    await kept.start()
    await kept.executeCommand('true')
    const metadata = { 'mastra-sandbox-id': 'twice', 'warmbox-attempt-id': createAttemptId(Date.now()) }
    await Sandbox.create('base', { ...server.connection, metadata })
    expect(idsOf('twice')).toHaveLength(2)

    const successor = sandboxOf({ id: 'twice' })
    await successor.start()

    expect(idsOf('twice')).toEqual([kept.sandboxId])
    expect(successor.sandboxId).toBe(kept.sandboxId)
    await successor.destroy()
  })
})
