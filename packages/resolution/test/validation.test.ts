import {
  bootFromSpec,
  createTemplateApi,
  ensureTemplate,
  isDeferredNamedTemplateSpec,
  isNamedTemplateSpec,
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
