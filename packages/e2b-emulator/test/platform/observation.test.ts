import { Sandbox, SandboxNotFoundError } from 'e2b'
import { describe, expect, test } from 'vitest'
import { createManualClock, createScriptedRuntime, type RuntimePort } from '@warmbox/e2b-emulator'
import { startEmulator, type Running } from '../support/emulator.ts'

const failing = { match: 'npm ci', answer: { exitCode: 3 } }

async function logsOf({ api }: Running, sandboxID: string, query: object = {}) {
  const { data, response } = await api.GET('/v2/sandboxes/{sandboxID}/logs', {
    params: { path: { sandboxID }, query },
  })
  return { status: response.status, logs: data?.logs ?? [] }
}

const messagesOf = async (running: Running, sandboxID: string, query: object = {}) =>
  (await logsOf(running, sandboxID, query)).logs.map(({ message }) => message)

describe('logs of a sandbox', () => {
  test('tell what its machine and its processes did, also when it is gone [S24]', async () => {
    const running = await startEmulator({ commands: [failing] })
    const sandbox = await Sandbox.create('base', running.connection)
    await sandbox.commands.run('npm ci').catch(() => undefined)
    await sandbox.commands.run('unheard of').catch(() => undefined)
    await sandbox.pause()
    await Sandbox.connect(sandbox.sandboxId, running.connection)
    await sandbox.kill()
    const { logs } = await logsOf(running, sandbox.sandboxId)
    expect(logs.map(({ level, message }) => [level, message])).toEqual([
      ['info', 'machine started'],
      ['info', expect.stringMatching(/^process \d+ started: \/bin\/bash -l -c npm ci$/)],
      ['info', expect.stringMatching(/^process \d+ ended: exit status 3$/)],
      ['error', expect.stringMatching(/^process could not be started: .*unheard of/)],
      ['info', 'machine paused'],
      ['info', 'machine resumed'],
      ['info', 'machine stopped'],
    ])
    expect(logs[2]?.fields).toMatchObject({ logger: 'process', exitCode: '3', user: 'user' })
    expect((await logsOf(running, 'unknown')).status).toBe(404)
  })

  test('are limited by time, direction, level and text [S24]', async () => {
    const clock = createManualClock()
    const running = await startEmulator({ clock })
    const sandbox = await Sandbox.create('base', running.connection)
    const created = clock.now()
    await running.emulator.control.advance(1000)
    await sandbox.commands.run('unheard of').catch(() => undefined)
    await sandbox.pause()
    const { sandboxId } = sandbox
    const refused = expect.stringContaining('could not be started')
    expect(await messagesOf(running, sandboxId, { cursor: created + 1 })).toEqual([refused, 'machine paused'])
    expect(await messagesOf(running, sandboxId, { cursor: created, direction: 'backward' })).toEqual([
      'machine started',
    ])
    expect(await messagesOf(running, sandboxId, { direction: 'backward', limit: 1 })).toEqual(['machine paused'])
    expect(await messagesOf(running, sandboxId, { level: 'warn' })).toEqual([refused])
    expect(await messagesOf(running, sandboxId, { search: 'machine' })).toEqual(['machine started', 'machine paused'])
  })

  test('are lines of JSON too in the older call [S24]', async () => {
    const running = await startEmulator()
    const { sandboxId } = await Sandbox.create('base', running.connection)
    const { data } = await running.api.GET('/sandboxes/{sandboxID}/logs', {
      params: { path: { sandboxID: sandboxId }, query: { limit: 1 } },
    })
    expect(data?.logEntries).toHaveLength(1)
    expect(data?.logs.map(({ line }) => JSON.parse(line))).toEqual(data?.logEntries)
  })
})

const MEBIBYTE = 1024 * 1024

/** The scripted runtime with a meter that the test reads off. */
function metered() {
  const usage = { cpuTimeMs: 0, memoryBytes: 10 * MEBIBYTE, disk: { usedBytes: 1, totalBytes: 2 } }
  const scripted = createScriptedRuntime()
  const runtime: RuntimePort = {
    kind: scripted.kind,
    description: scripted.description,
    baseImage: (image) => scripted.baseImage(image),
    deleteImage: (image) => scripted.deleteImage(image),
    inspectImage: (image) => scripted.inspectImage(image),
    close: () => scripted.close(),
    async createMachine(image, options) {
      const machine = await scripted.createMachine(image, options)
      return Object.assign(machine, { usage: async () => ({ ...usage }) })
    },
  }
  return { usage, runtime }
}

describe('metrics of a sandbox', () => {
  test('are what was measured, the processors since the sample before [S25]', async () => {
    const { usage, runtime } = metered()
    const running = await startEmulator({ clock: createManualClock(), runtime })
    const sandbox = await Sandbox.create('base', running.connection)
    await running.emulator.control.advance(10_000)
    usage.cpuTimeMs = 5000
    expect(await sandbox.getMetrics()).toMatchObject([
      { cpuCount: 2, cpuUsedPct: 25, memUsed: 10 * MEBIBYTE, memTotal: 1024 * MEBIBYTE, diskUsed: 1, diskTotal: 2 },
    ])
    await running.emulator.control.advance(10_000)
    usage.cpuTimeMs = 25_000
    expect((await sandbox.getMetrics()).map(({ cpuUsedPct }) => cpuUsedPct)).toEqual([25, 100])
  })

  test('are limited to an interval [S25]', async () => {
    const clock = createManualClock()
    const { runtime } = metered()
    const running = await startEmulator({ clock, runtime })
    const sandbox = await Sandbox.create('base', running.connection)
    await running.emulator.control.advance(10_000)
    await sandbox.getMetrics()
    const first = new Date(clock.now())
    await running.emulator.control.advance(10_000)
    expect(await sandbox.getMetrics()).toHaveLength(2)
    expect((await sandbox.getMetrics({ end: first })).map(({ timestamp }) => timestamp)).toEqual([first])
    await expect(sandbox.getMetrics({ start: new Date(clock.now()), end: first })).rejects.toMatchObject({
      statusCode: 400,
    })
  })

  test('are none where no process runs that could be measured, and of an unknown sandbox a 404 [S25]', async () => {
    const { connection } = await startEmulator()
    const sandbox = await Sandbox.create('base', connection)
    expect(await sandbox.getMetrics()).toEqual([])
    await expect(Sandbox.getMetrics('unknown', connection)).rejects.toBeInstanceOf(SandboxNotFoundError)
  })

  test('come for several sandboxes at once, the newest of each [S25]', async () => {
    const { runtime } = metered()
    const running = await startEmulator({ runtime })
    const one = await Sandbox.create('base', running.connection)
    const two = await Sandbox.create('base', running.connection)
    await Sandbox.create('base', running.connection)
    const ask = async (ids: string) =>
      running.emulator.fetch(`${running.connection.apiUrl}/sandboxes/metrics?sandbox_ids=${ids}`, {
        headers: { 'X-API-KEY': running.connection.apiKey },
      })
    const answer: unknown = await (await ask(`${one.sandboxId},${two.sandboxId},unknown`)).json()
    const sample = expect.objectContaining({ memUsed: 10 * MEBIBYTE })
    expect(answer).toEqual({ sandboxes: { [one.sandboxId]: sample, [two.sandboxId]: sample } })
    expect((await ask('')).status).toBe(400)
    expect((await ask(Array.from({ length: 101 }, (_, index) => index).join(','))).status).toBe(400)
  })
})

const teamOf = async ({ api }: Running) => (await api.GET('/teams')).data ?? []

describe('the team', () => {
  test('is the one whose key it is, which is not repeated [S26]', async () => {
    const running = await startEmulator({ team: 'acme' })
    const teams = await teamOf(running)
    expect(teams).toMatchObject([{ name: 'acme', isDefault: true }])
    expect(JSON.stringify(teams)).not.toContain(running.connection.apiKey)
  })

  test('has metrics of how many sandboxes ran when, and how fast they came [S27]', async () => {
    const clock = createManualClock()
    const running = await startEmulator({ clock })
    const teamID = (await teamOf(running))[0]?.teamID ?? ''
    const one = await Sandbox.create('base', running.connection)
    await Sandbox.create('base', running.connection)
    await running.emulator.control.advance(120_000)
    await one.kill()
    const { data } = await running.api.GET('/teams/{teamID}/metrics', { params: { path: { teamID } } })
    expect(data?.map(({ concurrentSandboxes }) => concurrentSandboxes)).toEqual([1, 2, 1, 1])
    expect(data?.map(({ sandboxStartRate }) => sandboxStartRate)).toEqual([2 / 60, 2 / 60, 0, 0])
    const highest = async (metric: 'concurrent_sandboxes' | 'sandbox_start_rate', start?: number) =>
      (
        await running.api.GET('/teams/{teamID}/metrics/max', {
          params: { path: { teamID }, query: start === undefined ? { metric } : { metric, start } },
        })
      ).data?.value
    expect(await highest('concurrent_sandboxes')).toBe(2)
    expect(await highest('sandbox_start_rate')).toBe(2 / 60)
    expect(await highest('concurrent_sandboxes', Math.floor(clock.now() / 1000))).toBe(1)
  })

  test('cannot be another one [S27]', async () => {
    const { api } = await startEmulator()
    const path = { teamID: '6ba7b810-9dad-41d1-80b4-00c04fd430c8' }
    expect((await api.GET('/teams/{teamID}/metrics', { params: { path } })).response.status).toBe(403)
  })
})
