import { ApiClient, ConnectionConfig, Sandbox, Template } from 'e2b'
import { describe, expect, test } from 'vitest'
import { createManualClock, type ScriptedCommand } from '@warmbox/e2b-emulator'
import { build, finished, request, start, status } from '../support/builds.ts'
import { gate, startEmulator } from '../support/emulator.ts'

const RUN_SLOW = [{ type: 'RUN', args: ['slow'] }]
const failing: ScriptedCommand = { match: 'npm ci', answer: { stderr: 'no lockfile\n', exitCode: 3 } }

describe('a build', () => {
  test('goes from waiting to building to ready [B25]', async () => {
    const slow = gate('slow')
    const { api } = await startEmulator({ commands: [slow.row] })
    const requested = await request(api, 'name:v1')
    expect((await status(api, requested)).status).toBe('waiting')
    expect((await start(api, requested, RUN_SLOW)).response.status).toBe(202)
    await slow.entered
    expect((await status(api, requested)).status).toBe('building')
    slow.open()
    expect((await finished(api, requested)).status).toBe('ready')
  })

  test('answers the start with an empty body of known length [B15]', async () => {
    const { api } = await startEmulator()
    const { response } = await start(api, await request(api, 'name'))
    expect(response.headers.get('content-length')).toBe('0')
  })

  test('that fails names the step, counted from 1, and the command [B26]', async () => {
    const { api } = await startEmulator({ commands: [failing] })
    const { status: outcome, reason } = await build({ api }, 'name:v1', [
      { type: 'ENV', args: ['A', '1'] },
      { type: 'RUN', args: ['npm ci'] },
    ])
    expect(outcome).toBe('error')
    expect(reason).toMatchObject({ step: '2', message: "failed to run command 'npm ci': exit status 3" })
  })

  test('that fails rejects with BuildError in the SDK', async () => {
    const { connection } = await startEmulator({ commands: [failing] })
    const template = Template().fromImage('node:24').runCmd('npm ci')
    await expect(Template.build(template, 'name:v1', connection)).rejects.toMatchObject({
      name: 'BuildError',
      message: "failed to run command 'npm ci': exit status 3",
    })
  })

  test('with an unknown step type fails: not implemented [B60]', async () => {
    const { api } = await startEmulator()
    const { reason } = await build({ api }, 'name:v1', [{ type: 'VOLUME', args: ['/x'] }])
    expect(reason).toMatchObject({ step: '1', message: 'command type VOLUME is not implemented' })
  })

  test('from an unknown template is accepted and fails in step base [B19]', async () => {
    const { api } = await startEmulator()
    const requested = await request(api, 'name:v1')
    const { response } = await api.POST('/v2/templates/{templateID}/builds/{buildID}', {
      params: { path: requested },
      body: { fromTemplate: 'nowhere:v1' },
    })
    expect(response.status).toBe(202)
    expect(await finished(api, requested)).toMatchObject({
      status: 'error',
      reason: { step: 'base', message: "template 'nowhere' not found" },
    })
  })

  test('with both or neither of fromImage and fromTemplate is a 500 [B20]', async () => {
    const { api } = await startEmulator()
    const path = await request(api, 'name:v1')
    const call = (body: { fromImage?: string; fromTemplate?: string }) =>
      api.POST('/v2/templates/{templateID}/builds/{buildID}', { params: { path }, body })
    expect((await call({})).response.status).toBe(500)
    expect((await call({ fromImage: 'a', fromTemplate: 'b' })).response.status).toBe(500)
  })

  test('cannot be started twice [B17]', async () => {
    const { api } = await startEmulator()
    const done = await build({ api }, 'name:v1')
    const { response, error } = await start(api, { templateID: done.templateID, buildID: done.buildID })
    expect(response.status).toBe(400)
    expect(error?.message).toBe('build is not in waiting state')
  })

  test('unknown to the status call is a 400, unknown to the start call a 404', async () => {
    const { api } = await startEmulator()
    const { templateID } = await request(api, 'name:v1')
    const path = { templateID, buildID: '6ba7b810-9dad-41d1-80b4-00c04fd430c8' }
    const asked = await api.GET('/templates/{templateID}/builds/{buildID}/status', { params: { path } })
    expect(asked.response.status).toBe(400)
    expect((await start(api, path)).response.status).toBe(404)
  })

  test('that nobody starts fails after forty minutes [B10]', async () => {
    const clock = createManualClock()
    const { api, emulator } = await startEmulator({ clock })
    const requested = await request(api, 'name:v1')
    await emulator.control.advance(40 * 60_000 - 1)
    expect((await status(api, requested)).status).toBe('waiting')
    await emulator.control.advance(1)
    expect((await status(api, requested)).status).toBe('error')
  })

  test('that a client stops waiting for goes on [B35]', async () => {
    const slow = gate('slow')
    const { api, connection } = await startEmulator({ commands: [slow.row] })
    const leave = new AbortController()
    const template = Template().fromImage('node:24').runCmd('slow')
    const waiting = Template.build(template, 'name:v1', { ...connection, signal: leave.signal })
    await slow.entered
    leave.abort()
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' })
    slow.open()
    const [tag] = await Template.getTags('name', connection)
    const { data } = await api.GET('/templates/aliases/{alias}', { params: { path: { alias: 'name' } } })
    const done = await finished(api, { templateID: data?.templateID ?? '', buildID: tag?.buildId ?? '' })
    expect(done.status).toBe('ready')
  })
})

describe('builds of one template', () => {
  test('with disjoint tags run side by side [B7]', async () => {
    const slow = gate('slow')
    const { api } = await startEmulator({ commands: [slow.row] })
    const first = await request(api, 'name:v1')
    await start(api, first, RUN_SLOW)
    await slow.entered
    expect((await build({ api }, 'name:v2')).status).toBe('ready')
    expect((await status(api, first)).status).toBe('building')
    slow.open()
    expect((await finished(api, first)).status).toBe('ready')
  })

  test('that share a tag: a new request fails the one that waits [B5]', async () => {
    const { api } = await startEmulator()
    const first = await request(api, 'name:v1', ['current'])
    await request(api, 'name:v2', ['current'])
    expect(await status(api, first)).toMatchObject({
      status: 'error',
      reason: { message: expect.stringContaining('superseded') },
    })
  })

  test('that share a tag: a new request leaves the running one alone, its start cancels it [B6] [B40]', async () => {
    const slow = gate('slow')
    const { api } = await startEmulator({ commands: [slow.row] })
    const first = await request(api, 'name:v1', ['current'])
    await start(api, first, RUN_SLOW)
    await slow.entered
    const second = await request(api, 'name:v2', ['current'])
    expect((await status(api, first)).status).toBe('building')
    await start(api, second)
    expect(await finished(api, first)).toMatchObject({ status: 'error', reason: { message: 'build was cancelled' } })
    expect((await finished(api, second)).status).toBe('ready')
  })

  test('that share a tag kill each other when the superseded one is started late [B18]', async () => {
    const slow = gate('slow')
    const { api } = await startEmulator({ commands: [slow.row] })
    const first = await request(api, 'name:v1', ['current'])
    const second = await request(api, 'name:v2', ['current'])
    await start(api, second, RUN_SLOW)
    await slow.entered
    expect((await start(api, first)).response.status).toBe(400)
    expect((await finished(api, second)).reason?.message).toBe('build was cancelled')
    expect((await status(api, first)).status).toBe('error')
  })

  test('resolve a tag to the one requested last, not the one finished last [T7]', async () => {
    const slow = gate('slow')
    const { api, connection } = await startEmulator({ commands: [slow.row] })
    const early = await request(api, 'name:v1')
    await start(api, early, RUN_SLOW)
    await slow.entered
    const late = await build({ api }, 'name:v2')
    await Template.assignTags('name:v2', 'v1', connection)
    slow.open()
    await finished(api, early)
    const sandbox = await Sandbox.create('name:v1', connection)
    expect(await sandbox.files.read('/.e2b')).toContain(late.buildID)
  })
})

describe('the limit of concurrent builds', () => {
  test('answers 429 without Retry-After [B8]', async () => {
    const { connection } = await startEmulator({ limits: { concurrentBuilds: 1 } })
    const { api } = new ApiClient(new ConnectionConfig({ ...connection, retries: 0 }))
    await request(api, 'one:v1')
    const { response, error } = await api.POST('/v3/templates', { body: { name: 'two:v1' } })
    expect(response.status).toBe(429)
    expect(response.headers.get('retry-after')).toBeNull()
    expect(error?.code).toBe(429)
  })

  test('does not count builds that the new one supersedes [B9]', async () => {
    const { api } = await startEmulator({ limits: { concurrentBuilds: 1 } })
    await request(api, 'one:v1')
    await expect(request(api, 'one:v1')).resolves.toBeDefined()
  })
})

describe('resources', () => {
  test.each([
    [{ cpuCount: 0 }, /^validation error: /],
    [{ memoryMB: 64 }, /^validation error: /],
    [{ cpuCount: 3 }, /^CPU count must be 1 or an even number$/],
    [{ cpuCount: 34 }, /^CPU count can't be higher/],
    [{ memoryMB: 1025 }, /^Memory must be divisible by 2$/],
  ])('%j is refused [B3]', async (body, message) => {
    const { api } = await startEmulator()
    const { response, error } = await api.POST('/v3/templates', { body: { name: 'name', ...body } })
    expect(response.status).toBe(400)
    expect(error?.message).toMatch(message)
  })

  test('are those of the build, 2 CPUs and 1024 MiB unless asked for [S9]', async () => {
    const { connection } = await startEmulator()
    const template = Template().fromImage('node:24')
    await Template.build(template, 'plain', connection)
    await Template.build(template, 'large', { ...connection, cpuCount: 8, memoryMB: 4096 })
    expect(await (await Sandbox.create('plain', connection)).getInfo()).toMatchObject({ cpuCount: 2, memoryMB: 1024 })
    expect(await (await Sandbox.create('large', connection)).getInfo()).toMatchObject({ cpuCount: 8, memoryMB: 4096 })
  })
})

describe('build logs', () => {
  test('come a hundred at a time, by offset, and end with an empty page [B28]', async () => {
    const chatty: ScriptedCommand = { match: 'chatty', answer: { stdout: 'line\n'.repeat(250) } }
    const { api } = await startEmulator({ commands: [chatty] })
    const { templateID, buildID } = await build({ api }, 'name', [{ type: 'RUN', args: ['chatty'] }])
    const page = async (logsOffset: number) => {
      const { data } = await api.GET('/templates/{templateID}/builds/{buildID}/status', {
        params: { path: { templateID, buildID }, query: { logsOffset } },
      })
      return data?.logEntries.length
    }
    const [first, second, third] = [await page(0), await page(100), await page(200)]
    expect([first, second]).toEqual([100, 100])
    expect(third).toBeGreaterThan(50)
    expect(await page(200 + (third ?? 0))).toBe(0)
  })

  test('reach the SDK whole and in order [B39]', async () => {
    const chatty: ScriptedCommand = {
      match: 'chatty',
      answer: { stdout: Array.from({ length: 250 }, (_, index) => `line ${index}\n`).join('') },
    }
    const { connection } = await startEmulator({ commands: [chatty] })
    const lines: string[] = []
    await Template.build(Template().fromImage('node:24').runCmd('chatty'), 'name', {
      ...connection,
      onBuildLogs: ({ message }) => lines.push(message),
    })
    expect(lines.filter((line) => line.startsWith('[builder 1/1] [stdout]: '))).toEqual(
      Array.from({ length: 250 }, (_, index) => `[builder 1/1] [stdout]: line ${index}`),
    )
  })

  test('have one entry for a line, in whatever pieces it and its characters arrive [B39]', async () => {
    const piecemeal: ScriptedCommand = {
      match: 'piecemeal',
      answer: ({ stdout, stderr }) => {
        for (const piece of ['one ', 'line\n\nand ', 'one more']) stdout(piece)
        for (const piece of ['  of ', 'another\r', '\n']) stderr(piece)
        return {}
      },
    }
    const { api } = await startEmulator({ commands: [piecemeal] })
    const { logEntries } = await build({ api }, 'name', [{ type: 'RUN', args: ['piecemeal'] }])
    const output = logEntries.map(({ message }) => message).filter((message) => /\[std(?:out|err)\]/.test(message))
    expect(output.toSorted()).toEqual([
      '[builder 1/1] [stderr]: of another',
      '[builder 1/1] [stdout]: and one more',
      '[builder 1/1] [stdout]: one line',
    ])
  })

  test('echo the text of ENV and RUN steps [B32]', async () => {
    const { api } = await startEmulator()
    const { logEntries } = await build({ api }, 'name', [
      { type: 'ENV', args: ['TOKEN', 'hunter2'] },
      { type: 'RUN', args: ['use hunter2'] },
    ])
    const messages = logEntries.map(({ message }) => message)
    expect(messages).toContain('[builder 1/2] ENV TOKEN hunter2')
    expect(messages).toContain('[builder 2/2] RUN use hunter2')
  })
})
