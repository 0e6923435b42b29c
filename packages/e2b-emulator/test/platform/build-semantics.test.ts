import { BuildError, Sandbox, ServiceBusyError, Template } from 'e2b'
import { describe, expect, test } from 'vitest'
import { createManualClock, type ScriptedCommand } from '@warmbox/e2b-emulator'
import { build, finished, request, start, status } from '../support/builds.ts'
import { gate, startEmulator, type Running } from '../support/emulator.ts'

const HASH = 'ab'.repeat(32)
const RUN_SLOW = [{ type: 'RUN', args: ['slow'] }]
const fromNode = () => Template().fromImage('node:24')
const serving = () => fromNode().runCmd('true').setStartCmd('serve', 'probe')

/** A call as no typed client makes it. */
const raw = (
  { connection }: Running,
  method: string,
  path: string,
  init: { body?: string; headers?: Record<string, string> } = {},
) =>
  fetch(`${connection.apiUrl}${path}`, {
    method,
    ...init,
    headers: { 'X-API-KEY': connection.apiKey, 'content-type': 'application/json', ...init.headers },
  })

const logsOf = async ({ api }: Running, path: { templateID: string; buildID: string }, query: object) => {
  const { data, response } = await api.GET('/templates/{templateID}/builds/{buildID}/logs', {
    params: { path, query },
  })
  return { status: response.status, messages: (data?.logs ?? []).map(({ message }) => message) }
}

const race = async (running: Running, slow: ReturnType<typeof gate>) => {
  const first = await request(running.api, 'name:v1', ['current'])
  await start(running.api, first, RUN_SLOW)
  await slow.entered
  running.emulator.control.failNextBuild()
  const second = await request(running.api, 'name:v2', ['current'])
  await start(running.api, second)
  return { first: await finished(running.api, first), second: await finished(running.api, second) }
}

const counting = () => {
  const seen: string[] = []
  const row: ScriptedCommand = {
    match: /^work/,
    answer: ({ user }) => {
      seen.push(user)
      return {}
    },
  }
  return { seen, row }
}

describe('a requested build', () => {
  test('is told with its names, aliases, tags and visibility [B1] [R13]', async () => {
    const { api } = await startEmulator({ team: 'acme' })
    const { data, response } = await api.POST('/v3/templates', { body: { name: 'name:v1', tags: ['v2', 'v1'] } })
    expect(response.status).toBe(202)
    expect(data).toEqual({
      templateID: expect.stringMatching(/^[a-z0-9]{20}$/),
      buildID: expect.stringMatching(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      names: ['acme/name'],
      aliases: ['name'],
      tags: expect.arrayContaining(['v1', 'v2']),
      public: false,
    })
  })

  test.each([{}, { name: '' }, { alias: '' }])('without a name (%j) is a 400 [B2]', async (body) => {
    const { api } = await startEmulator()
    expect((await api.POST('/v3/templates', { body })).response.status).toBe(400)
  })

  test('that waits holds its slot until it is forty minutes old [B10]', async () => {
    const running = await startEmulator({ clock: createManualClock(), limits: { concurrentBuilds: 1 } })
    await request(running.api, 'one')
    await running.emulator.control.advance(39 * 60_000)
    await expect(request(running.api, 'two')).rejects.toThrow('429')
    await running.emulator.control.advance(60_000)
    await expect(request(running.api, 'two')).resolves.toBeDefined()
  })

  test('does not count once it has ended [B9]', async () => {
    const never = gate('slow')
    const running = await startEmulator({
      clock: createManualClock(),
      limits: { concurrentBuilds: 1 },
      commands: [never.row],
    })
    await build(running, 'ended')
    const one = await request(running.api, 'one')
    await start(running.api, one, RUN_SLOW)
    await never.entered
    await expect(request(running.api, 'two')).rejects.toThrow('429')
    never.open()
    await finished(running.api, one)
    await expect(request(running.api, 'two')).resolves.toBeDefined()
  })
})

async function linkIn(answer: Response): Promise<{ url: string; present: boolean }> {
  const body: unknown = await answer.json()
  expect(body).toEqual({ url: expect.any(String), present: expect.any(Boolean) })
  return Object.assign({ url: '', present: true }, body)
}

describe('an upload', () => {
  test('goes to a link for its hash, without a key [B12]', async () => {
    const running = await startEmulator()
    const { templateID } = await request(running.api, 'name')
    const ask = async (hash: string) => raw(running, 'GET', `/templates/${templateID}/files/${hash}`)
    for (const wrong of ['abc', HASH.toUpperCase(), `${HASH}0`]) expect((await ask(wrong)).status).toBe(400)
    const link = await ask(HASH)
    expect(link.status).toBe(201)
    const { url, present } = await linkIn(link)
    expect(present).toBe(false)
    expect((await fetch(url, { method: 'PUT', body: 'archive' })).status).toBe(200)
    expect(await (await ask(HASH)).json()).toMatchObject({ present: true })
  })

  test('is refused when its link is half an hour old [B14]', async () => {
    const running = await startEmulator({ clock: createManualClock() })
    const { templateID } = await request(running.api, 'name')
    const { url } = await linkIn(await raw(running, 'GET', `/templates/${templateID}/files/${HASH}`))
    await running.emulator.control.advance(30 * 60_000 - 1)
    expect((await fetch(url, { method: 'PUT', body: 'archive' })).status).toBe(200)
    await running.emulator.control.advance(1)
    expect((await fetch(url, { method: 'PUT', body: 'archive' })).status).toBe(403)
  })
})

describe('a start', () => {
  const NOWHERE = '6ba7b810-9dad-41d1-80b4-00c04fd430c8'

  test('of an unknown template or build, or of a build without a tag, is a 404 [B16]', async () => {
    const { api, connection } = await startEmulator()
    const known = await request(api, 'name:v1')
    expect((await start(api, { ...known, templateID: 'nowhere' })).response.status).toBe(404)
    expect((await start(api, { ...known, buildID: NOWHERE })).response.status).toBe(404)
    await Template.removeTags('name', 'v1', connection)
    expect((await start(api, known)).response.status).toBe(404)
  })

  test.each([
    ['e2b-js-sdk/2.2.9', 'root'],
    ['e2b-js-sdk/1.13.0', 'root'],
    ['e2b-js-sdk/2.3.0', 'user'],
    ['e2b-js-sdk/10.0.0', 'user'],
    ['e2b-python-sdk/2.0.0', 'user'],
    ['curl/8', 'user'],
  ])('by %s runs steps as %s [B21]', async (userAgent, expected) => {
    const users: string[] = []
    const look: ScriptedCommand = {
      match: 'look',
      answer: ({ user }) => {
        users.push(user)
        return {}
      },
    }
    const running = await startEmulator({ commands: [look] })
    const path = await request(running.api, 'name')
    await raw(running, 'POST', `/v2/templates/${path.templateID}/builds/${path.buildID}`, {
      headers: { 'user-agent': userAgent },
      body: JSON.stringify({ fromImage: 'node:24', steps: [{ type: 'RUN', args: ['look'] }] }),
    })
    await finished(running.api, path)
    expect(users).toEqual([expected])
  })

  test('ignores keys it does not know, in steps too [B22]', async () => {
    const running = await startEmulator()
    const path = await request(running.api, 'name')
    const response = await raw(running, 'POST', `/v2/templates/${path.templateID}/builds/${path.buildID}`, {
      body: JSON.stringify({
        fromImage: 'node:24',
        colour: 'red',
        steps: [{ type: 'ENV', args: ['A', '1'], forceUpload: true, gzip: false, resolveSymlinks: null }],
      }),
    })
    expect(response.status).toBe(202)
    expect((await finished(running.api, path)).status).toBe('ready')
  })

  test('that finds no builder leaves the build waiting, and it can be started again [B23]', async () => {
    const { api, emulator } = await startEmulator()
    const path = await request(api, 'name')
    emulator.control.fault({ match: { path: /\/builds\// }, effect: { kind: 'answer', status: 503 } })
    expect((await start(api, path)).response.status).toBe(503)
    expect((await status(api, path)).status).toBe('waiting')
    expect((await start(api, path)).response.status).toBe(202)
  })

  test('is what buildInBackground waits for, not the end [B73]', async () => {
    const slow = gate('slow')
    const { connection } = await startEmulator({ commands: [slow.row] })
    const info = await Template.buildInBackground(fromNode().runCmd('slow'), 'name:v1', connection)
    await slow.entered
    expect(await Template.getBuildStatus(info, connection)).toMatchObject({ status: 'building' })
    slow.open()
    await expect.poll(() => Template.exists('name:v1', connection)).toBe(true)
  })

  test('takes registry credentials and shows them nowhere [B24]', async () => {
    const { connection, emulator } = await startEmulator()
    const secret = 'hunter2'
    const template = Template().fromImage('registry.example/app:1', { username: 'me', password: secret })
    const lines: string[] = []
    await Template.build(template, 'name', { ...connection, onBuildLogs: ({ message }) => lines.push(message) })
    expect(JSON.stringify([lines, emulator.control.builds(), emulator.control.templates()])).not.toContain(secret)
  })
})

describe('the status of a build', () => {
  test('that is unknown, no UUID or without a tag is a 400; another template is a 404 [B27] [T19]', async () => {
    const { api, connection } = await startEmulator()
    const ready = await build({ api }, 'name:v1')
    const other = await request(api, 'other')
    const code = async (path: { templateID: string; buildID: string }) =>
      (await api.GET('/templates/{templateID}/builds/{buildID}/status', { params: { path } })).response.status
    const { templateID } = ready
    expect(await code({ templateID, buildID: '6ba7b810-9dad-41d1-80b4-00c04fd430c8' })).toBe(400)
    expect(await code({ templateID, buildID: 'latest' })).toBe(400)
    expect(await code({ templateID: other.templateID, buildID: ready.buildID })).toBe(404)
    expect(await code({ templateID: 'name', buildID: ready.buildID })).toBe(404)
    await Template.removeTags('name', 'v1', connection)
    expect(await code(ready)).toBe(400)
  })

  test("of another team's build is a 403 [B27]", async () => {
    const { api, emulator } = await startEmulator()
    const templateID = emulator.control.addForeignTemplate({ name: 'theirs', namespace: 'them', public: true })
    const buildID = emulator.control.builds().find((known) => known.templateId === templateID)?.buildId ?? ''
    const path = { templateID, buildID }
    const { response } = await api.GET('/templates/{templateID}/builds/{buildID}/status', { params: { path } })
    expect(response.status).toBe(403)
  })

  test('that cannot be had ends Template.build with BuildError, and the build goes on [B33] [B34]', async () => {
    const slow = gate('slow')
    const { connection, emulator } = await startEmulator({ commands: [slow.row] })
    const building = Template.build(fromNode().runCmd('slow'), 'name:v1', connection)
    await slow.entered
    emulator.control.fault({ match: { path: /\/status$/ }, effect: { kind: 'answer', status: 500, message: 'oops' } })
    const failure = await building.catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(BuildError)
    expect(failure).toMatchObject({ message: '500: oops' })
    expect(failure).not.toHaveProperty('statusCode')
    slow.open()
    await expect.poll(() => Template.exists('name:v1', connection)).toBe(true)
  })
})

describe('logs of a build', () => {
  const failing: ScriptedCommand = { match: 'npm ci', answer: { stdout: 'one\n', stderr: 'two\n', exitCode: 1 } }
  test('are paged by time, forwards and backwards [B29]', async () => {
    const clock = createManualClock()
    const slow = gate('slow')
    const running = await startEmulator({ clock, commands: [slow.row] })
    const path = await request(running.api, 'name')
    await start(running.api, path, RUN_SLOW)
    await slow.entered
    const before = clock.now()
    clock.advance(1000)
    slow.open()
    await finished(running.api, path)
    const all = await logsOf(running, path, {})
    const early = await logsOf(running, path, { cursor: before, direction: 'backward' })
    const late = await logsOf(running, path, { cursor: before + 1 })
    expect([...early.messages.toReversed(), ...late.messages]).toEqual(all.messages)
    expect(early.messages.length * late.messages.length).toBeGreaterThan(0)
    expect((await logsOf(running, path, { limit: 1, direction: 'backward' })).messages).toEqual(['Build finished'])
  })

  test('can be limited to a level and those above it [B30]', async () => {
    const running = await startEmulator({ commands: [failing] })
    const path = await build(running, 'name', [{ type: 'RUN', args: ['npm ci'] }])
    const { templateID, buildID } = path
    const { messages } = await logsOf(running, path, { level: 'error' })
    expect(messages).toEqual([expect.stringContaining("failed to run command 'npm ci'")])
    const { data } = await running.api.GET('/templates/{templateID}/builds/{buildID}/status', {
      params: { path: { templateID, buildID }, query: { level: 'warn' } },
    })
    expect(data?.logs).toEqual(messages)
    const wrong = await raw(running, 'GET', `/templates/${templateID}/builds/${buildID}/logs?level=loud`)
    expect(wrong.status).toBe(400)
  })
})

describe('the end of a build', () => {
  test('comes after an hour at the latest [B36]', async () => {
    const clock = createManualClock()
    const slow = gate('slow')
    const { api, emulator } = await startEmulator({ clock, commands: [slow.row] })
    const path = await request(api, 'name')
    await start(api, path, RUN_SLOW)
    await slow.entered
    await emulator.control.advance(60 * 60_000 - 1)
    expect((await status(api, path)).status).toBe('building')
    await emulator.control.advance(1)
    const { reason } = await finished(api, path)
    expect(reason?.message).toContain('Maximum build time is 1h0m0s')
  })

  test('waits for the ready command, tried every two seconds for ten minutes [B37]', async () => {
    const clock = createManualClock()
    const tries: number[] = []
    const ready: ScriptedCommand = {
      match: 'is it up',
      answer: () => {
        tries.push(clock.now())
        return { exitCode: 1 }
      },
    }
    const { api } = await startEmulator({ clock, commands: [ready] })
    const path = await request(api, 'name')
    const begun = clock.now()
    await api.POST('/v2/templates/{templateID}/builds/{buildID}', {
      params: { path },
      body: { fromImage: 'node:24', startCmd: 'sleep infinity', readyCmd: 'is it up' },
    })
    for (let expected = 1; expected <= 300; expected += 1) {
      await expect.poll(() => tries.length, { interval: 1 }).toBe(expected)
      // The command has ended, and the pause after it has begun.
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
      clock.advance(2000)
    }
    expect(tries.slice(0, 3).map((at) => at - begun)).toEqual([0, 2000, 4000])
    expect((await finished(api, path)).reason?.message).toContain('10m0s')
  })

  test('of a start command without a ready command is twenty seconds away [B68]', async () => {
    const clock = createManualClock()
    const waits: string[] = []
    const wait: ScriptedCommand = {
      match: /^sleep 20$/,
      answer: ({ text }) => {
        waits.push(text)
        return {}
      },
    }
    const { api } = await startEmulator({ clock, commands: [wait] })
    const run = async (body: { startCmd?: string }) => {
      const path = await request(api, 'name')
      await api.POST('/v2/templates/{templateID}/builds/{buildID}', {
        params: { path },
        body: { fromImage: 'node:24', ...body },
      })
      return finished(api, path)
    }
    await run({})
    expect(waits).toEqual([])
    await run({ startCmd: 'sleep infinity' })
    expect(waits).toEqual(['sleep 20'])
  })

  test('runs start and ready command again where every step is cached [B48]', async () => {
    const runs: string[] = []
    const note: ScriptedCommand = {
      match: /^(serve|probe)$/,
      answer: ({ text }) => {
        runs.push(text)
        return {}
      },
    }
    const { connection } = await startEmulator({ commands: [note] })
    await Template.build(serving(), 'one', connection)
    await Template.build(serving(), 'two', connection)
    expect(runs.filter((text) => text === 'serve')).toHaveLength(2)
    expect(runs.filter((text) => text === 'probe')).toHaveLength(2)
  })
})

describe('a build that another one cancels', () => {
  test('may have finished meanwhile: it resolves, and cannot be booted [B41]', async () => {
    const slow = gate('slow')
    const running = await startEmulator({ commands: [slow.row] })
    running.emulator.control.finishNextCancelledBuild()
    const { first, second } = await race(running, slow)
    expect([first.status, second.status]).toEqual(['ready', 'error'])
    expect(await Template.exists('name:current', running.connection)).toBe(true)
    await expect(Sandbox.create('name:current', running.connection)).rejects.toMatchObject({ statusCode: 500 })
    // The next race is an ordinary one.
    const again = await race(running, slow)
    expect(again.first.reason?.message).toBe('build was cancelled')
  })

  test('leaves the layers it finished [B40]', async () => {
    const runs: string[] = []
    const first: ScriptedCommand = {
      match: 'npm ci',
      answer: ({ text }) => {
        runs.push(text)
        return {}
      },
    }
    const slow = gate('slow')
    const running = await startEmulator({ commands: [first, slow.row] })
    const steps = [{ type: 'RUN', args: ['npm ci'] }, ...RUN_SLOW]
    const early = await request(running.api, 'name:v1')
    await start(running.api, early, steps)
    await slow.entered
    await build(running, 'name:v1')
    expect((await finished(running.api, early)).reason?.message).toBe('build was cancelled')
    slow.open()
    await build(running, 'name:v2', steps)
    expect(runs).toEqual(['npm ci'])
  })
})

describe('the key of a layer', () => {
  test('joins arguments: a command for a user and a longer command are one [B46]', async () => {
    const { seen, row } = counting()
    const running = await startEmulator({ commands: [row] })
    await build(running, 'one', [{ type: 'RUN', args: ['work', 'root'] }])
    await build(running, 'two', [{ type: 'RUN', args: ['work root'] }])
    expect(seen).toEqual(['root'])
  })

  test('is passed by skipCache, which stays on the template object [B52]', async () => {
    const { seen, row } = counting()
    const { connection } = await startEmulator({ commands: [row] })
    const template = fromNode().runCmd('work')
    await Template.build(template, 'one', { ...connection, skipCache: true })
    await Template.build(template, 'one', connection)
    await Template.build(fromNode().runCmd('work'), 'one', connection)
    expect(seen).toHaveLength(2)
  })
})

test('a failed placement is 500, 503 or 504 to create, 503 with a class of its own [S12]', async () => {
  const { connection, emulator } = await startEmulator()
  const create = async (code: number) => {
    emulator.control.fault({ match: { path: '/v2/sandboxes' }, effect: { kind: 'answer', status: code } })
    return Sandbox.create('base', connection).catch((error: unknown) => error)
  }
  expect(await create(500)).toMatchObject({ name: 'SandboxError', statusCode: 500 })
  expect(await create(504)).toMatchObject({ name: 'SandboxError', statusCode: 504 })
  expect(await create(503)).toBeInstanceOf(ServiceBusyError)
})
