import {
  bootFromSpec,
  type BootOptions,
  bootRef,
  createTemplateApi,
  ensureTemplate,
  isDeferredNamedTemplateSpec,
  isNamedTemplateSpec,
  planTemplate,
  prepareResolution,
  ResolutionError,
  resolveTemplate,
  type TemplateSpec,
} from '@warmbox/resolution'
import { Template } from 'e2b'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { defaultRef, named, REF, rejection, trace, World } from './support/world.ts'

describe('bad input is refused before any request', () => {
  const bad: [string, TemplateSpec, string][] = [
    ['a ref with a space', named({ ref: 'not a ref' }), 'ref: '],
    ['an empty tag', named({ ref: 'name:' }), 'ref: '],
    ['a tag that E2B takes for a build id', named({ ref: `name:${'ab'.repeat(16)}` }), 'ref: '],
    ['a malformed earlier ref', named({ staleRef: 'a/b/c:d' }), 'staleRef: '],
    ['a malformed build ref', named({ buildRef: 'a b' }), 'buildRef: '],
    ['a malformed tag to move', named({ buildTags: ['ok', 'not ok'] }), 'buildTags: '],
    ['odd memory', named({ buildResources: { memoryMB: 1023 } }), 'resources: '],
    ['three vCPUs', named({ buildResources: { cpuCount: 3 } }), 'resources: '],
    ['a malformed string', 'Not A Template!', 'template: '],
    ['a malformed fallback string', named({ fallbackTemplate: 'a b' }), 'fallbackTemplate: '],
    ['a malformed fallback ref', named({ fallbackTemplate: named({ ref: 'a b' }) }), 'fallbackTemplate.ref: '],
    // What only JavaScript lets through.
    ['an object of no form', JSON.parse('{}'), 'template is none'],
    ['a misspelt named spec', JSON.parse('{"ref":"a:b","tmplate":1}'), 'template is none'],
    ['a named spec without a builder', JSON.parse('{"ref":"a:b","template":{}}'), 'template is none'],
    ['a fallback of no form', named({ fallbackTemplate: JSON.parse('5') }), 'fallbackTemplate is none'],
    ['a function that returns nothing', () => JSON.parse('null'), 'template is none'],
    [
      'a function that throws',
      () => {
        throw new Error('defect')
      },
      'The template function threw',
    ],
    ['files that do not exist', Template().fromBaseImage().copy('does-not-exist.txt', '/app/'), 'The template builder'],
  ]

  test.each(bad)('%s', async (_what, spec, start) => {
    const world = new World()
    const error = await rejection(world.start(spec))
    expect(error).toBeInstanceOf(ResolutionError)
    expect(error).toMatchObject({ code: 'INVALID_SPEC', message: expect.stringMatching(new RegExp(`^${start}`)) })
    expect(world.api.calls).toEqual([])
  })

  // Fields of a named spec, as only JavaScript lets them through, and what the error begins with.
  const fields: [string, unknown, string][] = [
    ['buildTags', 'current', 'buildTags is not a list of strings'],
    ['buildTags', [5], 'buildTags is not a list of strings'],
    ['buildTags', null, 'buildTags is not a list of strings'],
    ['redact', 5, 'redact is not a list of strings'],
    ['redact', [undefined], 'redact is not a list of strings'],
    ['redact', 'hunter2', 'redact is not a list of strings'],
    ['redact', { hunter2: true }, 'redact is not a list of strings'],
    ['staleRef', 5, 'staleRef: is not a string'],
    ['buildRef', {}, 'buildRef: is not a string'],
    ['isCurrent', 5, 'isCurrent is not a function'],
    ['incremental', {}, 'incremental.from is not a function'],
    ['incremental', 5, 'incremental is not an object'],
    ['incremental', { from: () => undefined }, 'incremental.cleanTags is missing'],
    ['incremental', { from: () => undefined, cleanTags: 'clean' }, 'incremental.cleanTags is not a list of strings'],
    ['refused', {}, 'refused does not say why'],
    ['refused', { code: 'X' }, 'refused does not say why'],
    ['refused', { code: 'X', message: '' }, 'refused does not say why'],
    ['refused', true, 'refused does not say why'],
    ['buildResources', { cpu: 4 }, "buildResources: 'cpu' is no part of a size"],
    ['buildResources', [4], 'buildResources: is not an object'],
  ]

  test.each(fields)('%s: %j', async (field, value, start) => {
    const { api, options, ...world } = new World()
    const spec = Object.assign(named(), { [field]: value })
    const lower = named({ fallbackTemplate: spec })
    for (const [where, failure] of [
      ['', bootFromSpec(spec, options)],
      ['', planTemplate(spec, { api })],
      ['', ensureTemplate(spec, { api })],
      ['fallbackTemplate.', bootFromSpec(lower, options)],
    ] as const) {
      const error = await rejection(failure)
      expect(error).toBeInstanceOf(ResolutionError)
      expect(error).toMatchObject({ code: 'INVALID_SPEC', hint: expect.any(String) })
      expect(String(error)).toContain(`: ${where}${start}`)
      expect(JSON.stringify([error, world.events])).not.toContain('hunter2')
    }
    expect(api.calls).toEqual([])
  })

  // Options, likewise.
  const options: [string, unknown, string][] = [
    ['api', undefined, 'api is not an object'],
    ['api', {}, 'api has no method status, templateId'],
    ['signal', 5, 'signal is not an object'],
    ['signal', {}, 'signal has no method addEventListener'],
    ['clock', {}, 'clock has no method now, sleep'],
    ['clock', 5, 'clock is not an object'],
    ['lease', 5, 'lease is not an object'],
    ['lease', {}, 'lease has no method acquire, renew, release'],
    ['random', 0.5, 'random is not a function'],
    ['strictTemplate', 'no', 'strictTemplate is neither true nor false'],
    ['resources', { cpu: 4 }, "resources: 'cpu' is no part of a size"],
    ['resources', 4, 'resources: is not an object'],
    ['buildTimeoutMs', '5000', 'buildTimeoutMs is not a number'],
    ['onEvent', 'log', 'onEvent is not a function'],
    ['waitUntil', {}, 'waitUntil is not a function'],
  ]

  test.each(options)('%s: %j as an option', async (option, value, start) => {
    const world = new World()
    const given = { ...world.options, [option]: value }
    for (const failure of [
      bootFromSpec(named(), given),
      bootRef('base', given),
      prepareResolution(named(), given),
      resolveTemplate(named(), given),
      ensureTemplate(named(), given),
    ]) {
      const error = await rejection(failure)
      expect(error).toBeInstanceOf(ResolutionError)
      expect(error).toMatchObject({
        code: 'INVALID_SPEC',
        message: expect.stringMatching(new RegExp(`^${start}`)),
        hint: expect.any(String),
      })
    }
    expect(world.api.calls).toEqual([])
  })

  // Names nobody reads, and the hint that goes with each.
  const misspelt: [string, string][] = [
    ['fallbacktemplate', "Did you mean 'fallbackTemplate'?"],
    ['staleref', "Did you mean 'staleRef'?"],
    ['buildTag', "Did you mean 'buildTags'?"],
    ['buildResource', "Did you mean 'buildResources'?"],
    ['isCurent', "Did you mean 'isCurrent'?"],
    ['redacted', "Did you mean 'redact'?"],
    ['tags', 'Known names: ref, template, fallbackTemplate, '],
  ]

  test.each(misspelt)('%s in a named spec', async (name, hint) => {
    const { api, options: given } = new World()
    const spec = Object.assign(named(), { [name]: ['x'] })
    for (const failure of [
      bootFromSpec(spec, given),
      bootFromSpec(named({ fallbackTemplate: spec }), given),
      resolveTemplate(spec, given),
      prepareResolution(spec, given),
      planTemplate(spec, { api }),
      ensureTemplate(spec, { api }),
    ]) {
      expect(await rejection(failure)).toMatchObject({
        code: 'INVALID_SPEC',
        message: expect.stringContaining(`'${name}' is no part of `),
        hint: expect.stringContaining(hint),
      })
    }
    expect(api.calls).toEqual([])
  })

  test('a misspelt option', async () => {
    const world = new World()
    const { api } = world
    const given = Object.assign({}, world.options, { strictTemplates: true })
    for (const failure of [
      bootFromSpec(named(), given),
      bootRef(REF, given),
      prepareResolution(named(), given),
      resolveTemplate(named(), given),
      ensureTemplate(named(), given),
      planTemplate(named(), Object.assign({ api }, { strictTemplates: true })),
      planTemplate(named(), Object.assign({ api }, { Resources: {} })),
      planTemplate(named(), Object.assign({ api }, { apikey: 'e2b_0' })),
    ]) {
      expect(await rejection(failure)).toMatchObject({
        code: 'INVALID_SPEC',
        hint: expect.stringMatching(/^Did you mean/),
      })
    }
    const unlike = await rejection(bootFromSpec(named(), Object.assign({}, world.options, { verbose: true })))
    expect(unlike).toMatchObject({ code: 'INVALID_SPEC', hint: expect.stringContaining('buildTimeoutMs') })
    expect(api.calls).toEqual([])
  })

  test('a misspelt connection, in whose place the SDK would take the key of the environment', () => {
    const connections: [unknown, string, RegExp][] = [
      [{ apikey: 'e2b_0' }, "'apikey' is no part of the connection", /'apiKey'/],
      [{ apiURL: 'http://localhost' }, "'apiURL' is no part of the connection", /'apiUrl'/],
      [{ requestTimeout: 5 }, "'requestTimeout' is no part of the connection", /'requestTimeoutMs'/],
      [{ apiKey: null }, 'apiKey is not a string', /E2B_API_KEY/],
      [null, 'The connection is not an object', /apiKey/],
      ['e2b_0', 'The connection is not an object', /apiKey/],
    ]
    for (const [connection, message, hint] of connections) {
      const expected: unknown = expect.objectContaining({
        code: 'INVALID_SPEC',
        message,
        hint: expect.stringMatching(hint),
      })
      expect(() => createTemplateApi(JSON.parse(JSON.stringify(connection)))).toThrow(expected)
    }
    expect(createTemplateApi(Object.assign({ apiKey: 'e2b_0' }, { tomorrow: 1 })).scope).toHaveLength(32)
  })

  test('refs that bootRef is to boot', async () => {
    const world = new World()
    const refs: [unknown, string][] = [
      ['', 'ref: '],
      ['a:b:c d', 'ref: '],
      ['Not A Template!', 'ref: '],
      [5, 'ref: is not a string'],
      [null, 'ref: is not a string'],
    ]
    for (const [ref, start] of refs) {
      expect(await rejection(bootRef(JSON.parse(JSON.stringify(ref)), world.options))).toMatchObject({
        code: 'INVALID_SPEC',
        message: expect.stringMatching(new RegExp(`^${start}`)),
        hint: expect.any(String),
      })
    }
    const ids = ['base', REF, `name:${'0'.repeat(8)}-0000-4000-8000-${'0'.repeat(12)}`]
    for (const ref of ids) {
      world.public.add(ref)
      // oxlint-disable-next-line no-await-in-loop -- one after the other is enough
      expect(await bootRef(ref, world.options)).toBe(`sandbox of ${ref}`)
    }
  })

  test('but not what is nobody’s mistake', async () => {
    class OwnSpec {
      readonly ref = REF
      readonly template = named().template
      readonly sha = 'abc'
    }
    const hidden = Object.defineProperty(named(), 'staleref', { value: 'hidden', enumerable: false })
    const specs: TemplateSpec[] = [
      new OwnSpec(),
      hidden,
      Object.assign(named(), { [Symbol.for('note')]: 1, toJSON: () => 'spec', verbose: undefined }),
      Object.assign(
        { resolveSpec: async () => Object.assign(named(), { sha: 'abc' }) },
        { repository: 'acme/widgets' },
      ),
    ]
    for (const spec of specs) {
      const world = new World()
      // oxlint-disable-next-line no-await-in-loop -- one after the other is enough
      expect((await world.start(spec, Object.assign({}, { [Symbol('note')]: 1 }))).rung).toBe('built')
    }
    const { api } = new World()
    // The SDK may have options of tomorrow.
    expect(await planTemplate(named(), Object.assign({ api }, { tomorrow: 1 }))).toMatchObject({ rung: 'built' })
  })

  test('what a deferred spec misspells costs it its template, and says so', async () => {
    const world = new World()
    const spec = { resolveSpec: async () => Object.assign(named(), { fallbacktemplate: 'base' }) }
    expect((await world.start(spec)).rung).toBe('default')
    expect(world.eventsOf('warning')).toMatchObject([{ message: expect.stringContaining('fallbacktemplate') }])
  })

  test('no options at all', async () => {
    const [forgotten]: BootOptions<string>[] = JSON.parse('[]')
    const wrong: BootOptions<string>[] = JSON.parse('[null, 5]')
    expect(await rejection(bootFromSpec('base', forgotten!))).toMatchObject({ code: 'INVALID_SPEC' })
    for (const given of wrong) {
      for (const failure of [
        bootFromSpec('base', given),
        bootRef('base', given),
        prepareResolution('base', given),
        resolveTemplate('base', given),
        ensureTemplate(named(), given),
        planTemplate('base', JSON.parse('5')),
      ]) {
        expect(await rejection(failure)).toMatchObject({ code: 'INVALID_SPEC', hint: expect.any(String) })
      }
    }
  })

  test('a missing boot, before the template is built', async () => {
    const world = new World()
    for (const boot of [undefined, 5]) {
      const given = Object.assign({}, world.options, { boot })
      for (const failure of [bootFromSpec(named(), given), bootRef(REF, given)]) {
        expect(await rejection(failure)).toMatchObject({
          code: 'INVALID_SPEC',
          message: 'boot is not a function',
          hint: expect.any(String),
        })
      }
    }
    expect(world.api.calls).toEqual([])
  })

  test('a force that is neither true nor false, and a spec that ensureTemplate cannot take', async () => {
    const { api } = new World()
    const force: boolean = JSON.parse('"no"')
    expect(await rejection(ensureTemplate(named(), { api, force }))).toMatchObject({ code: 'INVALID_SPEC' })
    for (const spec of ['null', '5', '"base"', '{}']) {
      expect(await rejection(ensureTemplate(JSON.parse(spec), { api }))).toMatchObject({
        code: 'INVALID_SPEC',
        message: 'The spec is nothing that is built',
      })
    }
    expect(api.calls).toEqual([])
  })

  test('a size nobody can build, and a timeout that is no time', async () => {
    const world = new World()
    const odd = await rejection(world.start(undefined, { resources: { memoryMB: 1 } }))
    expect(odd).toMatchObject({ code: 'INVALID_SPEC' })
    for (const buildTimeoutMs of [0, -1, Number.NaN, 2 ** 31]) {
      expect(await rejection(world.start('base', { buildTimeoutMs }))).toMatchObject({ code: 'INVALID_SPEC' })
    }
    expect(world.api.calls).toEqual([])
  })

  test('by ensureTemplate as well', async () => {
    const { api } = new World()
    const error = await rejection(ensureTemplate(named({ buildTags: [''] }), { api }))
    expect(error).toMatchObject({ code: 'INVALID_SPEC' })
    expect(api.calls).toEqual([])
  })
})

describe('a missing API key', () => {
  afterEach(() => vi.unstubAllEnvs())

  test('is a typed error of the first call, not of the construction; no request is made', async () => {
    vi.stubEnv('E2B_API_KEY', '')
    const api = createTemplateApi()
    for (const failure of [
      bootFromSpec('base', { api, boot: async () => 'never' }),
      resolveTemplate(named(), { api }),
      api.status(REF),
    ]) {
      expect(await rejection(failure)).toMatchObject({
        code: 'MISSING_API_KEY',
        hint: expect.stringContaining('E2B_API_KEY'),
      })
    }
  })

  test('is filled from the environment', () => {
    vi.stubEnv('E2B_API_KEY', 'e2b_0123')
    expect(createTemplateApi().scope).toMatch(/^[0-9a-f]{32}$/)
  })

  test('the scope tells accounts and endpoints apart and does not show the key', () => {
    const scopes = [
      createTemplateApi({ apiKey: 'e2b_a', apiUrl: 'http://127.0.0.1:1' }),
      createTemplateApi({ apiKey: 'e2b_b', apiUrl: 'http://127.0.0.1:1' }),
      createTemplateApi({ apiKey: 'e2b_a', apiUrl: 'http://127.0.0.1:2' }),
    ].map(({ scope }) => scope)
    expect(new Set(scopes).size).toBe(3)
    expect(scopes.join()).not.toContain('e2b_')
  })
})

describe('the guards', () => {
  const deferred = { resolveSpec: async () => named() }
  const cases: [string, TemplateSpec | undefined, boolean, boolean][] = [
    ['undefined', undefined, false, false],
    ['a string', 'base', false, false],
    ['a builder', Template().fromBaseImage(), false, false],
    ['a function', (base) => base, false, false],
    ['a named spec', named(), true, false],
    ['a deferred spec', deferred, false, true],
  ]

  test.each(cases)('know %s', (_what, spec, isNamed, isDeferred) => {
    expect(isNamedTemplateSpec(spec)).toBe(isNamed)
    expect(isDeferredNamedTemplateSpec(spec)).toBe(isDeferred)
  })
})

describe('resolveTemplate', () => {
  test('answers the ref without booting it', async () => {
    const { api, clock } = new World()
    api.seed(REF, 'ready')
    const result = await resolveTemplate(named(), { api, clock })
    expect(result).toMatchObject({ ref: REF, rung: 'exact', attempts: [{ rung: 'exact', outcome: 'resolved' }] })
  })

  test('builds what is missing', async () => {
    const { api, clock } = new World()
    expect(await resolveTemplate(named(), { api, clock })).toMatchObject({ ref: REF, rung: 'built' })
  })

  test('asks for a string: missing degrades, of another account counts as public', async () => {
    const { api, clock } = new World()
    const missing = await resolveTemplate('gone', { api, clock })
    expect(missing.ref).toBe(defaultRef())
    expect(trace(missing.attempts)).toEqual(['exact unusable', 'default resolved'])
    api.foreign.add('base')
    expect(await resolveTemplate('base', { api, clock })).toMatchObject({ ref: 'base', rung: 'exact' })
  })
})
