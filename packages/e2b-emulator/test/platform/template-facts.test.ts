import { Sandbox, Template, TemplateError } from 'e2b'
import { describe, expect, test } from 'vitest'
import { createManualClock } from '@warmbox/e2b-emulator'
import { build, finished, request, start } from '../support/builds.ts'
import { gate, startEmulator, type Running } from '../support/emulator.ts'

const UUID = '6ba7b810-9dad-41d1-80b4-00c04fd430c8'
const RUN_SLOW = [{ type: 'RUN', args: ['slow'] }]

/** Which build a reference boots. */
async function booted(ref: string, { connection }: Pick<Running, 'connection'>) {
  const sandbox = await Sandbox.create(ref, connection)
  return (await sandbox.files.read('/.e2b')).split('BUILD_ID=')[1]?.trim()
}

const aliasOf = async ({ api }: Running, alias: string) =>
  (await api.GET('/templates/aliases/{alias}', { params: { path: { alias } } })).response.status

/** The statuses of the three tag calls. */
const tagCalls = ({ api }: Running) => ({
  assign: async (target: string, tags: string[]) =>
    (await api.POST('/templates/tags', { body: { target, tags } })).response.status,
  remove: async (name: string, tags: string[]) =>
    (await api.DELETE('/templates/tags', { body: { name, tags } })).response.status,
  list: async (templateID: string) =>
    (await api.GET('/templates/{templateID}/tags', { params: { path: { templateID } } })).response.status,
})

describe('references', () => {
  test('may be long [R5]', async () => {
    const running = await startEmulator()
    const ref = `${'n'.repeat(1000)}:${'t'.repeat(1000)}`
    await build(running, ref)
    expect(await Template.exists(ref, running.connection)).toBe(true)
    expect(await Template.exists(`n${ref}`, running.connection)).toBe(false)
    expect(await Template.exists(`${ref}t`, running.connection)).toBe(false)
  })

  test('may use the id of a template for its name [R9]', async () => {
    const running = await startEmulator()
    const ready = await build(running, 'name:v1')
    const id = ready.templateID
    expect(id).toMatch(/^[a-z0-9]{20}$/)
    expect(await booted(`${id}:v1`, running)).toBe(ready.buildID)
    expect(await Template.exists(`${id}:v1`, running.connection)).toBe(true)
    await Template.assignTags(`${id}:v1`, 'default', running.connection)
    expect(await booted(id, running)).toBe(ready.buildID)
    expect((await Template.getTags(id, running.connection)).map(({ tag }) => tag)).toEqual(['default', 'v1'])
  })

  test('with a namespace are looked for in it alone [R11]', async () => {
    const running = await startEmulator({ team: 'acme' })
    running.emulator.control.addForeignTemplate({ name: 'tool', namespace: 'them', public: true })
    const { templateID } = await build(running, 'name')
    expect(await aliasOf(running, 'acme/tool')).toBe(404)
    expect(await aliasOf(running, 'acme/base')).toBe(404)
    expect(await aliasOf(running, `acme/${templateID}`)).toBe(404)
    expect(await aliasOf(running, 'acme/name')).toBe(200)
    await expect(Sandbox.create('tool', running.connection)).rejects.toMatchObject({ statusCode: 404 })
  })

  test('with a foreign namespace boot, build and filter lists [R12]', async () => {
    const running = await startEmulator({ team: 'acme' })
    running.emulator.control.addForeignTemplate({ name: 'tool', namespace: 'them', public: true })
    const { sandboxId } = await Sandbox.create('them/tool', running.connection)
    await Template.build(Template().fromTemplate('them/tool'), 'child', running.connection)
    const found = await Sandbox.list({ ...running.connection, query: { template: 'them/tool' } }).nextItems()
    expect(found.map((sandbox) => sandbox.sandboxId)).toEqual([sandboxId])
    const { assign, remove } = tagCalls(running)
    expect([await assign('them/tool', ['mine']), await remove('them/tool', ['mine'])]).toEqual([400, 400])
  })

  test('keep an encoded slash and colon of a path in one part [R15]', async () => {
    const running = await startEmulator({ team: 'acme' })
    await build(running, 'name:v1')
    const ask = (path: string) => running.emulator.fetch(new URL(path, running.connection.apiUrl), { headers })
    const headers = { 'X-API-KEY': running.connection.apiKey }
    expect((await ask('/templates/aliases/acme%2Fname%3Av1')).status).toBe(200)
    expect((await ask('/templates/acme%2Fname%3Av1/tags')).status).toBe(200)
  })

  test('that are malformed throw TemplateError from exists [R20]', async () => {
    const { connection } = await startEmulator()
    const failure = await Template.exists('no.dots', connection).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(TemplateError)
    expect(failure).toMatchObject({ statusCode: 400 })
  })

  test('exist for the SDK whenever the answer is 403 [R22]', async () => {
    const { connection, emulator } = await startEmulator()
    emulator.control.fault({
      match: { path: /aliases/ },
      effect: { kind: 'answer', status: 403, message: 'team is banned' },
    })
    expect(await Template.exists('never-requested:v1', connection)).toBe(true)
    expect(await Template.exists('never-requested:v1', connection)).toBe(false)
  })

  test('of a deleted template stay taken as its id, free as its name [R14] [T29]', async () => {
    const running = await startEmulator()
    const { templateID } = await build(running, 'name')
    const remove = async () =>
      (await running.api.DELETE('/templates/{templateID}', { params: { path: { templateID } } })).response.status
    const sandbox = await Sandbox.create('name', running.connection)
    expect(await remove()).toBe(400)
    await sandbox.pause()
    expect(await remove()).toBe(400)
    await sandbox.kill()
    expect(await remove()).toBe(204)
    expect(await Template.exists('name', running.connection)).toBe(false)
    expect((await running.api.POST('/v3/templates', { body: { name: templateID } })).response.status).toBe(409)
    expect((await build(running, 'name')).templateID).not.toBe(templateID)
  })
})

describe('tags', () => {
  test('of the name and of the option are merged [T5]', async () => {
    const { api, connection } = await startEmulator()
    const { data } = await api.POST('/v3/templates', { body: { name: 'name:a', tags: ['b', 'a', 'B', 'c'] } })
    expect(new Set(data?.tags)).toEqual(new Set(['a', 'b', 'c']))
    expect(data?.tags).toHaveLength(3)
    expect((await Template.getTags('name', connection)).map(({ tag }) => tag)).toEqual(['a', 'b', 'c'])
  })

  test('are listed sorted, the newest assignment of each, whatever became of its build [T9] [T15]', async () => {
    const running = await startEmulator({ clock: createManualClock() })
    const first = await build(running, 'name:b')
    await running.emulator.control.advance(1000)
    const waiting = await request(running.api, 'name:a')
    await running.emulator.control.advance(1000)
    await Template.assignTags('name:b', ['b', 'c'], running.connection)
    const tags = await Template.getTags('name', running.connection)
    expect(tags.map(({ tag, buildId }) => [tag, buildId])).toEqual([
      ['a', waiting.buildID],
      ['b', first.buildID],
      ['c', first.buildID],
    ])
    const [older, newer] = [tags[0]?.createdAt.getTime() ?? 0, tags[1]?.createdAt.getTime() ?? 0]
    expect(newer - older).toBe(1000)
    expect(await booted('name:b', running)).toBe(first.buildID)
  })

  test('cannot be listed of unknown, foreign or malformed templates [T10]', async () => {
    const { list } = tagCalls(await startEmulator())
    expect([await list('unknown'), await list('base'), await list('no.dots')]).toEqual([404, 403, 400])
  })

  test('are assigned from a source, by default the tag default [T11]', async () => {
    const running = await startEmulator()
    const ready = await build(running, 'name')
    const { data, response } = await running.api.POST('/templates/tags', {
      body: { target: 'NAME', tags: ['Stable', 'stable', 'next'] },
    })
    expect(response.status).toBe(201)
    expect(data?.buildID).toBe(ready.buildID)
    expect(new Set(data?.tags)).toEqual(new Set(['stable', 'next']))
  })

  test('are not assigned where they are none, malformed, or like a UUID [T13]', async () => {
    const running = await startEmulator()
    await build(running, 'name')
    const { assign } = tagCalls(running)
    for (const tags of [[], ['a/b'], [''], [UUID], ['d41d8cd98f00b204e9800998ecf8427e']]) {
      expect(await assign('name', tags)).toBe(400)
    }
    expect(await assign('base', ['mine'])).toBe(403)
  })

  test('are removed by name alone, and never default [T17]', async () => {
    const running = await startEmulator()
    await build(running, 'name:v1', [], ['default'])
    const { remove } = tagCalls(running)
    expect(await remove('name', [])).toBe(400)
    expect(await remove('name', ['v1', 'default'])).toBe(400)
    expect(await remove('name:v1', ['v1'])).toBe(400)
    expect(await remove('unknown', ['v1'])).toBe(404)
    expect(await remove('base', ['v1'])).toBe(403)
    expect(await remove('name:default', ['v1'])).toBe(204)
  })

  test('may be removed under a running sandbox [T20]', async () => {
    const running = await startEmulator()
    await build(running, 'name:v1')
    const sandbox = await Sandbox.create('name:v1', running.connection)
    await Template.removeTags('name', 'v1', running.connection)
    expect(await sandbox.isRunning()).toBe(true)
    await sandbox.pause()
    await Sandbox.connect(sandbox.sandboxId, running.connection)
    expect(await sandbox.isRunning()).toBe(true)
  })

  test('may be many [T21]', async () => {
    const running = await startEmulator()
    await build(running, 'name')
    const tags = Array.from({ length: 500 }, (_, index) => `v${index}`)
    await Template.assignTags('name', tags, running.connection)
    expect(await Template.getTags('name', running.connection)).toHaveLength(501)
  })

  test('fail with TemplateError and its status [T22]', async () => {
    const { connection } = await startEmulator()
    const calls = [
      () => Template.assignTags('unknown:v1', 'v2', connection),
      () => Template.removeTags('unknown', 'v1', connection),
      () => Template.getTags('unknown', connection),
    ]
    for (const call of calls) {
      const failure = await call().catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(TemplateError)
      expect(failure).toMatchObject({ statusCode: 404 })
    }
  })

  test('that move show at once, whatever was booted before [T23]', async () => {
    const running = await startEmulator({ clock: createManualClock() })
    const first = await build(running, 'name:v1', [], ['current'])
    expect(await booted('name:current', running)).toBe(first.buildID)
    const second = await build(running, 'name:v2', [], ['current'])
    expect(await booted('name:current', running)).toBe(second.buildID)
    await Template.assignTags('name:v1', 'current', running.connection)
    expect(await booted('name:current', running)).toBe(first.buildID)
    await Template.removeTags('name', 'current', running.connection)
    await expect(booted('name:current', running)).rejects.toMatchObject({ statusCode: 404 })
  })
})

/** Two builds under one tag; the second ends after the restart. */
async function outlive(running: Running, slow: ReturnType<typeof gate>, options: { bootFirst: boolean }) {
  const first = await build(running, 'name:v1', [], ['current'])
  if (options.bootFirst) await booted('name:current', running)
  const second = await request(running.api, 'name:v2', ['current'])
  await start(running.api, second, RUN_SLOW)
  await slow.entered
  running.emulator.control.restartApi()
  slow.open()
  await finished(running.api, second)
  return { first: first.buildID, second: second.buildID }
}

describe('a build whose API process was restarted', () => {
  test('leaves what was booted under its tag for up to five minutes [T24]', async () => {
    const slow = gate('slow')
    const running = await startEmulator({ clock: createManualClock(), commands: [slow.row] })
    const { first, second } = await outlive(running, slow, { bootFirst: true })
    expect(await Template.exists(`name:${second}`, running.connection)).toBe(true)
    expect(await booted('name:current', running)).toBe(first)
    await running.emulator.control.advance(5 * 60_000)
    expect(await booted('name:current', running)).toBe(second)
  })

  test('is found by the second boot after a minute [T24]', async () => {
    const slow = gate('slow')
    const running = await startEmulator({ clock: createManualClock(), commands: [slow.row] })
    const { first, second } = await outlive(running, slow, { bootFirst: true })
    await running.emulator.control.advance(60_000)
    expect(await booted('name:current', running)).toBe(first)
    expect(await booted('name:current', running)).toBe(second)
  })

  test('is found at once under a tag that nothing was booted under [T25]', async () => {
    const slow = gate('slow')
    const running = await startEmulator({ clock: createManualClock(), commands: [slow.row] })
    const { second } = await outlive(running, slow, { bootFirst: false })
    expect(await booted('name:current', running)).toBe(second)
  })
})

describe('templates', () => {
  test('are shown by id with their reachable builds, newest first and paged [T26] [T19]', async () => {
    const running = await startEmulator({ clock: createManualClock() })
    const ids: string[] = []
    for (const tag of ['v1', 'v2', 'v3', 'v4']) {
      ids.unshift((await build(running, `name:${tag}`)).buildID)
      await running.emulator.control.advance(1000)
    }
    await Template.removeTags('name', 'v2', running.connection)
    const { data: alias } = await running.api.GET('/templates/aliases/{alias}', { params: { path: { alias: 'name' } } })
    const page = async (templateID: string, query: { limit?: number; nextToken?: string }) =>
      running.api.GET('/templates/{templateID}', { params: { path: { templateID }, query } })
    expect((await page('name', {})).response.status).toBe(404)
    const first = await page(alias?.templateID ?? '', { limit: 2 })
    const nextToken = first.response.headers.get('x-next-token') ?? ''
    const rest = await page(alias?.templateID ?? '', { limit: 2, nextToken })
    const shown = [first, rest].flatMap(({ data }) => data?.builds ?? [])
    expect(shown.map(({ buildID }) => buildID)).toEqual([ids[0], ids[1], ids[3]])
    expect(rest.response.headers.get('x-next-token')).toBeNull()
    expect(JSON.stringify(shown)).not.toContain('v1')
    expect((await page(alias?.templateID ?? '', { limit: 101 })).response.status).toBe(400)
  })

  test('say that a build finished as soon as it started [T27]', async () => {
    const slow = gate('slow')
    const running = await startEmulator({ commands: [slow.row] })
    const path = await request(running.api, 'name')
    const shown = async () =>
      (await running.api.GET('/templates/{templateID}', { params: { path } })).data?.builds?.map(
        ({ status, finishedAt }) => [status, finishedAt],
      )
    expect(await shown()).toEqual([['waiting', undefined]])
    await start(running.api, path, RUN_SLOW)
    await slow.entered
    expect(await shown()).toEqual([['building', expect.any(String)]])
    slow.open()
  })

  test('are listed with what default resolves to [T28]', async () => {
    const running = await startEmulator()
    await build(running, 'tagged:v1')
    const ready = await build(running, 'plain')
    const { data } = await running.api.GET('/v2/templates')
    const byName = Object.fromEntries((data ?? []).map((template) => [template.aliases[0], template]))
    expect(byName['plain']).toMatchObject({ buildStatus: 'ready', buildID: ready.buildID, cpuCount: 2, memoryMB: 1024 })
    expect(byName['tagged']).toMatchObject({
      buildStatus: 'waiting',
      buildID: '00000000-0000-0000-0000-000000000000',
      cpuCount: 0,
      memoryMB: 0,
    })
  })

  test('are deleted by Sandbox.deleteSnapshot too, with every tag [T30]', async () => {
    const running = await startEmulator()
    await build(running, 'name:v1', [], ['v2'])
    expect(await Sandbox.deleteSnapshot('name:v1', running.connection)).toBe(true)
    expect(await Template.exists('name', running.connection)).toBe(false)
    expect(await Sandbox.deleteSnapshot('name:v1', running.connection)).toBe(false)
  })

  test('are made public and private again [T31]', async () => {
    const running = await startEmulator()
    const path = await request(running.api, 'name')
    const isPublic = async () =>
      (await running.api.GET('/templates/aliases/{alias}', { params: { path: { alias: 'name' } } })).data?.public
    const update = (visible: boolean) =>
      running.api.PATCH('/v2/templates/{templateID}', { params: { path }, body: { public: visible } })
    expect(await isPublic()).toBe(false)
    expect((await update(true)).response.status).toBe(200)
    expect(await isPublic()).toBe(true)
    await update(false)
    expect(await isPublic()).toBe(false)
  })
})
