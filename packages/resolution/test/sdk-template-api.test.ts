import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bootFromSpec, createTemplateApi, type ResolutionErrorCode, settleBackgroundBuilds } from '@warmbox/resolution'
import { Template, type TemplateBuilder } from 'e2b'
import { http, HttpResponse, passthrough } from 'msw'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { network } from './support/network.ts'
import { silentServer } from './support/silent-server.ts'
import { named, rejection } from './support/world.ts'

const API = await silentServer()
const BUILD_ID = '0b1e6c3e-2a55-4f0e-9a39-9f0a4f6f8f10'
const connection = { apiKey: 'e2b_0123abcd', apiUrl: API, retries: 0 }
const api = createTemplateApi(connection)

interface Seen {
  readonly call: string
  readonly body: unknown
  readonly apiKey: string | null
}

let seen: Seen[] = []
beforeEach(() => {
  seen = []
})

type Method = 'get' | 'post' | 'delete'

/** Answers one route and records what was asked of it. Paths are compared as they stand on the wire. */
function answer(method: Method, path: string, reply: () => Response): void {
  network.use(
    http[method](`${API}${path}`, async ({ request }) => {
      const url = new URL(request.url)
      const text = await request.text()
      const body: unknown = text === '' ? undefined : JSON.parse(text)
      const call = `${request.method} ${url.pathname}${url.search}`
      seen.push({ call, body, apiKey: request.headers.get('X-API-KEY') })
      return reply()
    }),
  )
}

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}) =>
  (): Response =>
    HttpResponse.json(body ?? null, { status, headers })
/** What E2B sends for a call without a result. */
const empty = (status: number) => (): Response => new HttpResponse(null, { status, headers: { 'content-length': '0' } })
const problemOf = (status: number, headers: Record<string, string> = {}) =>
  json(status, { code: status, message: `because of ${status}` }, headers)

const ALIAS = '/templates/aliases/:alias'
const TAGS = '/templates/:name/tags'
const STATUS = '/templates/:template/builds/:build/status'
const REQUEST = '/v3/templates'
const START = '/v2/templates/:template/builds/:build'
const ASSIGN = '/templates/tags'
const TEMPLATE = '/templates/:template'
const SANDBOXES = '/v2/sandboxes'

describe('status', () => {
  test.each([
    [200, 'ready'],
    [404, 'missing'],
  ] as const)('%i is %s', async (status, expected) => {
    answer('get', ALIAS, json(status, { templateID: 'abc', public: false }))
    expect(await api.status('name:sha-1')).toBe(expected)
    expect(seen).toEqual([{ call: 'GET /templates/aliases/name%3Asha-1', body: undefined, apiKey: connection.apiKey }])
  })

  test('403 is a name of another account, where this one may ask for what is its own', async () => {
    answer('get', ALIAS, problemOf(403))
    answer('get', SANDBOXES, json(200, []))
    expect(await api.status('name:sha-1')).toBe('foreign')
    expect(seen.map(({ call }) => call)).toEqual(['GET /templates/aliases/name%3Asha-1', 'GET /v2/sandboxes?limit=1'])
  })

  test('403 is an account that is shut out, where that is answered with 403 too', async () => {
    answer('get', ALIAS, problemOf(403))
    answer('get', SANDBOXES, problemOf(403))
    expect(await rejection(api.status('name:sha-1'))).toMatchObject({ code: 'FORBIDDEN', status: 403 })
  })

  test('403 is a name of another account as well where that cannot be asked', async () => {
    answer('get', ALIAS, problemOf(403))
    answer('get', SANDBOXES, problemOf(500))
    expect(await api.status('name:sha-1')).toBe('foreign')
  })

  test('a bare name is asked as its default tag', async () => {
    answer('get', ALIAS, json(200, { templateID: 'abc', public: false }))
    await api.status('name')
    expect(seen[0]?.call).toBe('GET /templates/aliases/name%3Adefault')
  })
})

describe('every other status is a code, for every call', () => {
  const calls: [string, Method, string, () => Promise<unknown>][] = [
    ['status', 'get', ALIAS, () => api.status('name:t')],
    ['templateId', 'get', ALIAS, () => api.templateId('name')],
    ['tags', 'get', TAGS, () => api.tags('name')],
    ['requestBuild', 'post', REQUEST, () => api.requestBuild(requestOf(plain()))],
    ['startBuild', 'post', START, () => api.startBuild(handle, requestOf(plain()))],
    ['buildProgress', 'get', STATUS, () => api.buildProgress(handle, 0)],
    ['assignTags', 'post', ASSIGN, () => api.assignTags('name:t', ['current'])],
    ['removeTags', 'delete', ASSIGN, () => api.removeTags('name', ['sha-1'])],
    ['listBuilds', 'get', TEMPLATE, () => api.listBuilds('abc')],
  ]
  const answers: [number, Record<string, string>, ResolutionErrorCode][] = [
    [400, {}, 'BAD_REQUEST'],
    [401, {}, 'AUTHENTICATION'],
    [409, {}, 'CONFLICT'],
    [429, {}, 'QUOTA_EXCEEDED'],
    [429, { 'Retry-After': '3' }, 'RATE_LIMITED'],
    [500, {}, 'PLATFORM'],
    [503, {}, 'SERVICE_BUSY'],
    [504, {}, 'PLATFORM'],
  ]

  test.each(calls)('%s', async (_name, method, path, call) => {
    for (const [status, headers, code] of answers) {
      network.resetHandlers()
      answer(method, path, problemOf(status, headers))
      // oxlint-disable-next-line no-await-in-loop -- the handlers are replaced between the calls
      const error = await rejection(call())
      expect(error).toMatchObject({ code, status, message: expect.stringContaining(`because of ${status}`) })
    }
    expect(seen).toHaveLength(answers.length)
  })

  test.each(calls)('%s: an answer that is not JSON, and none at all', async (_name, method, path, call) => {
    answer(method, path, () => new HttpResponse('<html>', { status: 200, headers: { 'content-type': 'text/html' } }))
    network.use(http[method](`${API}${path}`, () => HttpResponse.error(), { once: true }))
    expect(await rejection(call())).toMatchObject({ code: 'NETWORK' })
    expect(await rejection(call())).toMatchObject({ code: 'PLATFORM' })
  })

  test.each(calls)('%s: a call that takes too long, and one that is aborted', async (name, method, path) => {
    network.use(http[method](`${API}${path}`, () => new Promise<Response>(() => undefined)))
    const hasty = createTemplateApi({ ...connection, requestTimeoutMs: 20 })
    expect(await rejection(callOn(hasty, name))).toMatchObject({ code: 'REQUEST_TIMEOUT' })
    const controller = new AbortController()
    const reason = new Error('enough')
    const aborted = rejection(callOn(api, name, controller.signal))
    controller.abort(reason)
    expect(await aborted).toBe(reason)
  })

  test('a signal of the connection counts as well', async () => {
    const reason = new Error('shut down')
    const closed = createTemplateApi({ ...connection, signal: AbortSignal.abort(reason) })
    expect(await rejection(closed.status('name:t'))).toBe(reason)
    expect(seen).toEqual([])
  })
})

describe('templateId and tags', () => {
  test('give what the platform knows of a template of this account', async () => {
    answer('get', ALIAS, json(200, { templateID: 'abc', public: false }))
    const createdAt = '2026-01-02T03:04:05Z'
    answer('get', TAGS, json(200, [{ tag: 'current', buildID: BUILD_ID, createdAt }]))
    expect(await api.templateId('team/name')).toBe('abc')
    expect(await api.tags('team/name')).toEqual([{ tag: 'current', buildId: BUILD_ID, createdAt: new Date(createdAt) }])
    expect(seen.map(({ call }) => call)).toEqual([
      'GET /templates/aliases/team%2Fname',
      'GET /templates/team%2Fname/tags',
    ])
  })

  test.each([404, 403])('%i is no template of this account', async (status) => {
    answer('get', ALIAS, problemOf(status))
    answer('get', TAGS, problemOf(status))
    expect(await api.templateId('name')).toBeUndefined()
    expect(await api.tags('name')).toBeUndefined()
  })
})

describe('a build', () => {
  test('is requested under its ref alone, with its size, and started with the steps of the template', async () => {
    answer('post', REQUEST, requested)
    answer('post', START, empty(202))
    const request = requestOf(plain().setEnvs({ A: '1' }))
    const build = await api.requestBuild(request)
    await api.startBuild(build, request)
    expect(build).toEqual(handle)
    expect(seen).toMatchObject([
      { call: 'POST /v3/templates', body: { name: 'name:default', cpuCount: 4, memoryMB: 2048 } },
      {
        call: `POST /v2/templates/abc/builds/${BUILD_ID}`,
        body: {
          fromImage: 'e2bdev/base',
          steps: [
            { type: 'RUN', args: ['echo hello'] },
            { type: 'ENV', args: ['A', '1'] },
          ],
        },
      },
    ])
    expect(Object.keys(Object(seen[0]?.body)).toSorted()).toEqual(['cpuCount', 'memoryMB', 'name'])
  })

  test('is followed by state, log entries from an offset, and the reason of a failure', async () => {
    const logEntries = [{ timestamp: '2026-01-02T03:04:05Z', level: 'warn', message: 'careful' }]
    const reason = { message: 'exit 1', step: '3', logEntries: [] }
    answer(
      'get',
      STATUS,
      json(200, { templateID: 'abc', buildID: BUILD_ID, status: 'error', logEntries, logs: [], reason }),
    )
    expect(await api.buildProgress(handle, 7)).toEqual({
      state: 'error',
      logs: [{ timestamp: new Date('2026-01-02T03:04:05Z'), level: 'warn', message: 'careful' }],
      failure: { message: 'exit 1', step: '3' },
    })
    expect(seen[0]?.call).toBe(`GET /templates/abc/builds/${BUILD_ID}/status?logsOffset=7`)
  })

  test('gets its tags by one call', async () => {
    answer('post', ASSIGN, json(201, { tags: ['current'], buildID: BUILD_ID }))
    await api.assignTags('name:sha-1', ['current'])
    expect(seen).toMatchObject([{ body: { target: 'name:sha-1', tags: ['current'] } }])
  })

  test('loses tags by one call', async () => {
    answer('delete', ASSIGN, empty(204))
    await api.removeTags('name', ['sha-1', 'sha-2'])
    expect(seen).toMatchObject([{ call: 'DELETE /templates/tags', body: { name: 'name', tags: ['sha-1', 'sha-2'] } }])
  })

  test('is in the list of its template, page after page', async () => {
    const times = { createdAt: '2026-09-01T10:00:00Z', finishedAt: '2026-09-01T10:00:01Z' }
    const first = json(200, { builds: [{ buildID: 'b1', status: 'building', ...times }] }, { 'X-Next-Token': 'n=2' })
    const second = json(200, { builds: [{ buildID: 'b2', status: 'error', ...times }] })
    answer('get', TEMPLATE, () => (seen.length === 1 ? first() : second()))
    const createdAt = new Date('2026-09-01T10:00:00Z')
    expect(await api.listBuilds('abc')).toEqual([
      { buildId: 'b1', state: 'building', createdAt },
      { buildId: 'b2', state: 'error', createdAt },
    ])
    expect(seen.map(({ call }) => call)).toEqual([
      'GET /templates/abc?limit=100',
      'GET /templates/abc?limit=100&nextToken=n%3D2',
    ])
  })

  test('with COPY steps is uploaded by the SDK and started in the same call', async () => {
    const { template, uploadUrl, uploads } = await copyingTemplate()
    answer('post', REQUEST, requested)
    answer('get', '/templates/:template/files/:hash', json(201, { present: false, url: uploadUrl }))
    answer('post', START, empty(202))
    network.use(http.put(uploadUrl, () => passthrough()))
    const request = requestOf(template)
    const build = await api.requestBuild(request)
    await api.startBuild(build, request)
    expect(build).toEqual(handle)
    expect(uploads).toHaveLength(1)
    expect(uploads[0]).toBeGreaterThan(0)
    expect(seen.map(({ call }) => call.replace(/[0-9a-f]{64}/, '<hash>'))).toEqual([
      'POST /v3/templates',
      'GET /templates/abc/files/<hash>',
      `POST /v2/templates/abc/builds/${BUILD_ID}`,
    ])
    expect(seen[2]?.body).toMatchObject({
      steps: [{ type: 'COPY', filesHash: expect.stringMatching(/^[0-9a-f]{64}$/) }],
    })
  })

  test('without the cache: the start says so, and the builder is as it was before', async () => {
    answer('post', START, empty(202))
    const skipping = { ...requestOf(plain()), skipCache: true }
    await api.startBuild(handle, skipping)
    await api.startBuild(handle, requestOf(skipping.template))
    expect(seen.map(({ body }) => body)).toMatchObject([{ force: true }, { force: false }])
  })

  test('with COPY steps and without the cache: the same', async () => {
    const { template } = await copyingTemplate()
    answer('post', REQUEST, requested)
    answer('get', '/templates/:template/files/:hash', json(201, { present: true }))
    answer('post', START, empty(202))
    for (const request of [{ ...requestOf(template), skipCache: true }, requestOf(template)]) {
      await api.startBuild(await api.requestBuild(request), request)
    }
    const starts = seen.filter(({ call }) => call.startsWith('POST /v2/templates'))
    expect(starts.map(({ body }) => body)).toMatchObject([{ force: true }, { force: false }])
  })

  test.each([
    [401, 'AUTHENTICATION'],
    [429, 'QUOTA_EXCEEDED'],
    [503, 'SERVICE_BUSY'],
    [500, 'PLATFORM'],
  ] as const)('with COPY steps, answered with %i: %s', async (status, code) => {
    const { template } = await copyingTemplate()
    answer('post', REQUEST, problemOf(status))
    expect(await rejection(api.requestBuild(requestOf(template)))).toMatchObject({ code })
  })

  test('with COPY steps whose upload fails: UPLOAD_FAILED', async () => {
    const { template } = await copyingTemplate()
    answer('post', REQUEST, requested)
    answer('get', '/templates/:template/files/:hash', problemOf(404))
    const request = requestOf(template)
    const build = await api.requestBuild(request)
    expect(build).toEqual(handle)
    expect(await rejection(api.startBuild(build, request))).toMatchObject({ code: 'UPLOAD_FAILED' })
  })

  test('with COPY steps whose upload fails: the same build can be uploaded and started again', async () => {
    const { template, uploadUrl, uploads } = await copyingTemplate()
    answer('post', REQUEST, requested)
    answer('post', START, empty(202))
    let links = 0
    answer('get', '/templates/:template/files/:hash', () => {
      links += 1
      return links === 1 ? problemOf(503)() : json(201, { present: false, url: uploadUrl })()
    })
    network.use(http.put(uploadUrl, () => passthrough()))
    const request = requestOf(template)
    const build = await api.requestBuild(request)
    expect(await rejection(api.startBuild(build, request))).toMatchObject({ code: 'SERVICE_BUSY' })
    await api.startBuild(build, request)
    expect(uploads).toHaveLength(1)
    const posts = seen.map(({ call }) => call).filter((call) => call.startsWith('POST'))
    expect(posts).toEqual(['POST /v3/templates', `POST /v2/templates/abc/builds/${BUILD_ID}`])
  })

  test('with COPY steps sends nothing before it is started, and ends with its signal', async () => {
    const { template } = await copyingTemplate()
    answer('post', REQUEST, requested)
    const unwanted = new AbortController()
    const request = requestOf(template)
    const build = await api.requestBuild(request, unwanted.signal)
    const started = rejection(api.startBuild(build, request))
    unwanted.abort(new Error('not wanted'))
    expect(await started).toMatchObject({ message: 'not wanted' })
    expect(seen.map(({ call }) => call).filter((call) => !call.includes('/files/'))).toEqual(['POST /v3/templates'])
  })

  test('with a COPY step that has no source: refused before it is requested', async () => {
    const { directory } = await copyingTemplate()
    const template = Template({ fileContextPath: directory }).fromBaseImage().copy('gone.txt', '/app/')
    const error = await rejection(api.requestBuild(requestOf(template)))
    expect(error).toMatchObject({ code: 'INVALID_SPEC', message: expect.stringMatching(/no files found/i) })
    expect(error).toMatchObject({ hint: expect.stringContaining('COPY') })
    expect(seen).toEqual([])
  })

  test('with files that its builder makes when it is built: they are looked for only then', async () => {
    const { directory } = await copyingTemplate()
    answer('post', REQUEST, requested)
    answer('get', '/templates/:template/files/:hash', json(201, { present: true }))
    answer('post', START, empty(202))
    const template = Template({ fileContextPath: directory }).fromBaseImage().copy('made.txt', '/app/')
    const build: unknown = Reflect.get(template, 'build')
    if (typeof build !== 'function') throw new TypeError('The SDK has changed')
    Object.defineProperty(template, 'build', {
      value: async (...given: readonly unknown[]): Promise<void> => {
        await writeFile(join(directory, 'made.txt'), 'made')
        await Reflect.apply(build, template, given)
      },
    })
    const request = requestOf(template)
    await api.startBuild(await api.requestBuild(request), request)
    expect(seen).toHaveLength(3)
  })
})

test('a cold start from end to end: list, ask, look, request, look, start, follow, tag', async () => {
  let isReady = false
  answer('get', ALIAS, () => problemOf(404)())
  answer('get', TAGS, problemOf(404))
  answer('post', REQUEST, requested)
  answer('post', START, empty(202))
  answer('get', STATUS, () => {
    const status = isReady ? 'ready' : 'building'
    isReady = true
    return json(200, { templateID: 'abc', buildID: BUILD_ID, status, logEntries: [], logs: [] })()
  })
  answer('post', ASSIGN, json(201, { tags: ['current'], buildID: BUILD_ID }))
  const result = await bootFromSpec(named({ ref: 'name:sha-1', buildTags: ['current'] }), {
    api,
    boot: async (ref) => `booted ${ref}`,
  })
  expect(result).toMatchObject({ value: 'booted name:sha-1', rung: 'built' })
  await settleBackgroundBuilds()
  const status = `GET /templates/abc/builds/${BUILD_ID}/status?logsOffset=0`
  expect(seen.map(({ call }) => call)).toEqual([
    'GET /templates/name/tags',
    'GET /templates/aliases/name%3Asha-1',
    'GET /templates/name/tags',
    'POST /v3/templates',
    'GET /templates/name/tags',
    `POST /v2/templates/abc/builds/${BUILD_ID}`,
    status,
    status,
    status,
    'POST /templates/tags',
  ])
})

const handle = { templateId: 'abc', buildId: BUILD_ID }
const requested = json(202, {
  templateID: 'abc',
  buildID: BUILD_ID,
  names: ['team/name'],
  aliases: ['name'],
  tags: ['default'],
  public: false,
})
const plain = (): TemplateBuilder => Template().fromBaseImage().runCmd('echo hello')
const requestOf = (template: TemplateBuilder) => ({ ref: 'name:default', template, cpuCount: 4, memoryMB: 2048 })

function callOn(target: typeof api, name: string, signal?: AbortSignal): Promise<unknown> {
  switch (name) {
    case 'status':
      return target.status('name:t', signal)
    case 'templateId':
      return target.templateId('name', signal)
    case 'tags':
      return target.tags('name', signal)
    case 'requestBuild':
      return target.requestBuild(requestOf(plain()), signal)
    case 'startBuild':
      return target.startBuild(handle, requestOf(plain()), signal)
    case 'buildProgress':
      return target.buildProgress(handle, 0, signal)
    case 'assignTags':
      return target.assignTags('name:t', ['current'], signal)
    case 'removeTags':
      return target.removeTags('name', ['sha-1'], signal)
    case 'listBuilds':
      return target.listBuilds('abc', signal)
    default:
      throw new TypeError(`No such call: ${name}`)
  }
}

/** A template with one file, and a loopback server for its upload: a streamed upload cannot be intercepted. */
async function copyingTemplate() {
  const directory = await mkdtemp(join(tmpdir(), 'warmbox-copy-'))
  await writeFile(join(directory, 'note.txt'), 'hello')
  const uploads: number[] = []
  const server = createServer((request, response) => {
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
    })
    request.on('end', () => {
      uploads.push(bytes)
      response.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    await new Promise((resolve) => server.close(resolve))
    await rm(directory, { recursive: true })
  })
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const template = Template({ fileContextPath: directory }).fromBaseImage().copy('note.txt', '/app/')
  return { directory, template, uploads, uploadUrl: `http://127.0.0.1:${port}/upload` }
}
