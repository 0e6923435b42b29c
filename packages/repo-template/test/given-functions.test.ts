import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  createRepoTemplate,
  describeRepoTemplate,
  type HeadResolver,
  pruneRepoTemplates,
  refreshRepoTemplate,
  reportBoot,
  type RepoTemplateOptions,
  resolveHead as lookUpHead,
  warmRepositories,
} from '@warmbox/repo-template'

/** What callers give, and what JavaScript callers get wrong. Nothing here reaches a network. */
const cloneUrl = 'https://git.example.com/acme/widgets.git'
const sha = 'a'.repeat(40)
const optionsOf = (options: Partial<RepoTemplateOptions> = {}): RepoTemplateOptions => ({
  getRepositoryAccess: () => Promise.resolve({ cloneUrl, authorization: { scheme: 'bearer', token: 'needle' } }),
  resolveHead: () => Promise.resolve({ status: 'found', sha, cloneUrl }),
  ...options,
})
const resolve = async (options: Partial<RepoTemplateOptions>, signal?: AbortSignal) =>
  createRepoTemplate(optionsOf(options))?.resolveSpec({ signal })
const never = () => new Promise<never>(() => undefined)
const accessed = (access: unknown) => resolve({ getRepositoryAccess: () => Promise.resolve(untyped(access)) })
beforeEach(() => vi.stubEnv('E2B_API_KEY', 'e2b_0'))
afterEach(() => vi.unstubAllEnvs())
/** As a caller without types gives it. */
const untyped = (value: unknown): ReturnType<typeof JSON.parse> =>
  value === undefined ? value : JSON.parse(JSON.stringify(value))
const answering =
  (value: unknown): HeadResolver =>
  () =>
    Promise.resolve(untyped(value))

test('a resolver that never answers is held to the time', async () => {
  const spec = await resolve({ resolveHead: never, headTimeoutMs: 20 })
  expect(spec?.ref).toMatch(/:current$/)
  await expect(
    refreshRepoTemplate(optionsOf({ resolveHead: never, headTimeoutMs: 20, pull: 7 })),
  ).rejects.toMatchObject({
    code: 'HEAD_UNREACHABLE',
  })
})

test('a resolver that never answers is held to the signal', async () => {
  const controller = new AbortController()
  const reason = new Error('enough')
  const resolving = resolve(
    {
      resolveHead: () => {
        controller.abort(reason)
        return never()
      },
    },
    controller.signal,
  )
  await expect(resolving).rejects.toBe(reason)
})

test.each([
  undefined,
  null,
  'found',
  {},
  { status: 'gone', reason: 'x' },
  { status: 'found', sha },
  { status: 'refused' },
])('an answer that is no head is neither unreachable nor a defect: %j', async (answer) => {
  await expect(resolve({ resolveHead: answering(answer) })).rejects.toMatchObject({ code: 'HEAD_INVALID' })
})

test.each(['https://evil.example/acme/widgets.git', 'https://git.example.com:8443/acme/widgets.git'])(
  'a head found at another origin is refused: %s',
  async (elsewhere) => {
    const resolveHead = answering({ status: 'found', sha, cloneUrl: elsewhere })
    const spec = await resolve({ resolveHead })
    expect(spec?.refused).toMatchObject({ code: 'ACCESS_REFUSED' })
    await expect(refreshRepoTemplate(optionsOf({ resolveHead }))).rejects.toMatchObject({ code: 'ACCESS_REFUSED' })
  },
)

test('a head found elsewhere at the same origin is built', async () => {
  const moved = 'https://GIT.example.com:443/acme/gadgets.git'
  const spec = await resolve({ resolveHead: answering({ status: 'found', sha, cloneUrl: moved }) })
  expect(spec?.ref).toMatch(new RegExp(`:sha-${sha}$`))
})

test.each([undefined, null, 'A=1', ['A']])('a buildEnv function that answers %j is told of', async (value) => {
  const buildEnv = (): Promise<Record<string, string>> => Promise.resolve(untyped(value))
  await expect(refreshRepoTemplate(optionsOf({ buildEnv }))).rejects.toMatchObject({
    code: 'OPTION_TYPE',
    field: 'buildEnv',
  })
})

test('a misspelt authorization does not ask for a private repository as nobody', async () => {
  const access = untyped({ cloneUrl, authorisation: { scheme: 'bearer', token: 'needle' } })
  await expect(resolve({ getRepositoryAccess: () => Promise.resolve(access) })).rejects.toMatchObject({
    code: 'ACCESS_INVALID',
    field: 'authorisation',
    hint: expect.stringContaining('authorization'),
  })
})

test('what else a host keeps in an access is its own affair', async () => {
  const access = { cloneUrl, expiresAt: 0 }
  await expect(resolve({ getRepositoryAccess: () => Promise.resolve(access) })).resolves.toMatchObject({
    ref: expect.stringMatching(/^mastra-repo-/),
  })
})

test('what is no list, no options or no connection is refused by name', async () => {
  await expect(warmRepositories(untyped(optionsOf()))).rejects.toMatchObject({ field: 'repositories' })
  const type = { code: 'OPTION_TYPE', field: 'options' }
  await expect(refreshRepoTemplate(untyped(null))).rejects.toMatchObject(type)
  await expect(describeRepoTemplate(untyped(null))).rejects.toMatchObject(type)
  await expect(pruneRepoTemplates(untyped([null]))).rejects.toMatchObject(type)
  await expect(refreshRepoTemplate(optionsOf(), untyped(null))).rejects.toMatchObject({ field: 'connection' })
})

test.each<[string, () => Promise<unknown>]>([
  ['concurency', () => warmRepositories([optionsOf()], untyped({ concurency: 1 }))],
  ['buildTimoutMs', () => refreshRepoTemplate(optionsOf(), untyped({ buildTimoutMs: 1 }))],
  ['apikey', () => describeRepoTemplate(optionsOf(), untyped({ apikey: 'e2b_0' }))],
  ['timeout', () => reportBoot({ executeCommand: never }, untyped({ timeout: 1 }))],
  ['apiKeyy', () => pruneRepoTemplates(optionsOf(), {}, untyped({ apiKeyy: 'e2b_0' }))],
])('a misspelt name in a connection is refused: %s', async (field, asked) => {
  await expect(asked()).rejects.toMatchObject({ code: 'OPTION_UNKNOWN', field })
})

describe('what follows or ends the work is checked before anybody is asked', () => {
  const asked: string[] = []
  const options = optionsOf({
    getRepositoryAccess: () => {
      asked.push('access')
      return Promise.resolve({ cloneUrl })
    },
  })
  const sandbox = {
    executeCommand: () => {
      asked.push('command')
      return Promise.resolve({ exitCode: 0, stdout: '', stderr: '', success: true })
    },
  }
  const throughConnection: Readonly<Record<string, (connection: object) => Promise<unknown>>> = {
    refresh: (connection) => refreshRepoTemplate(options, connection),
    warm: (connection) => warmRepositories([options], connection),
    describe: (connection) => describeRepoTemplate(options, connection),
    prune: (connection) => pruneRepoTemplates(options, {}, connection),
  }
  const ofAny = [{ signal: 5 }, { signal: {} }, { signal: null }, { apiKey: 5 }]
  const ofBuilds = [{ onEvent: 'x' }, { force: 'x' }, { buildTimeoutMs: -1 }, { lease: 5 }, { lease: {} }]

  test.each([
    ...Object.keys(throughConnection).flatMap((name) => ofAny.map((given) => [name, given] as const)),
    ...['refresh', 'warm'].flatMap((name) => ofBuilds.map((given) => [name, given] as const)),
  ])('%s with %j', async (name, given) => {
    asked.length = 0
    await expect(throughConnection[name]?.(given)).rejects.toMatchObject({
      code: 'INVALID_SPEC',
      message: expect.stringContaining(Object.keys(given)[0] ?? ''),
      hint: expect.any(String),
    })
    expect(asked).toEqual([])
  })

  test.each(Object.entries(throughConnection))('%s without a key', async (_name, call) => {
    asked.length = 0
    vi.stubEnv('E2B_API_KEY', '')
    await expect(call({})).rejects.toMatchObject({ code: 'MISSING_API_KEY', hint: expect.stringContaining('apiKey') })
    expect(asked).toEqual([])
  })

  test.each<[string, (signal: unknown) => Promise<unknown> | undefined]>([
    ['a boot report', (signal) => reportBoot(sandbox, untyped({ signal }))],
    ['a head lookup', (signal) => lookUpHead({ cloneUrl: 'https://localhost:9/r' }, untyped({ signal }))],
    ['a spec', (signal) => createRepoTemplate(options)?.resolveSpec(untyped({ signal }))],
  ])('the signal of %s', async (_name, ask) => {
    asked.length = 0
    for (const signal of [5, {}, null]) {
      await expect(ask(signal)).rejects.toMatchObject({
        code: 'OPTION_TYPE',
        field: 'signal',
        hint: expect.any(String),
      })
    }
    expect(asked).toEqual([])
  })

  test('so is that there are options and a sandbox at all', async () => {
    await expect(reportBoot(untyped(null))).rejects.toMatchObject({ code: 'SANDBOX_UNSUPPORTED', field: 'sandbox' })
    const type = { code: 'OPTION_TYPE', field: 'options' }
    await expect(reportBoot(sandbox, untyped(null))).rejects.toMatchObject(type)
    await expect(lookUpHead({ cloneUrl }, untyped(null))).rejects.toMatchObject(type)
  })
})

describe('an error of the caller says what to write instead', () => {
  const create = async (given: object) => createRepoTemplate({ ...optionsOf(), ...given })
  const malformed: readonly object[] = [
    { setupCommand: 7 },
    { setupCommand: [7] },
    { submodules: 'x' },
    { lfs: 'x' },
    { source: 'x' },
    { pull: 0 },
    { mergeRequest: 0 },
    { branch: 7 },
    { branch: 'a b' },
    { tag: 7 },
    { base: 'x' },
    { resolveHead: 'x' },
    { getRepositoryAccess: 'x' },
    { certificateAuthority: 7 },
    { certificateAuthority: '' },
    { certificateAuthority: '-----END CERTIFICATE-----' },
    { cloneTimeoutMs: 0 },
    { headTimeoutMs: 0 },
    { cleanEvery: 0 },
    { maxStaleMs: -1 },
    { allowedHosts: 'x' },
    { allowedHosts: ['a b'] },
    { credentialForms: [] },
    { credentialForms: { h: 'x' } },
    { credentialForms: { h: { scheme: 'basic', user: 'a:b' } } },
    { buildEnv: { UID: '0' } },
    { buildEnv: { WARMBOX_X: '0' } },
    { workingDirectory: '/home/user' },
  ]
  const nobody = optionsOf({ getRepositoryAccess: undefined })
  const asked: readonly (readonly [string, () => Promise<unknown>])[] = [
    ...malformed.map((given) => [JSON.stringify(given), () => create(given)] as const),
    ['no options', () => refreshRepoTemplate(untyped(null))],
    ['no connection', () => refreshRepoTemplate(optionsOf(), untyped(null))],
    ['no variables', () => resolve({ buildEnv: () => Promise.resolve(untyped([])) })],
    ['no list', () => warmRepositories(untyped({}))],
    ['no count', () => warmRepositories([], { concurrency: 0 })],
    ['no rules', () => pruneRepoTemplates(optionsOf(), untyped(null))],
    ['no flag', () => pruneRepoTemplates(optionsOf(), untyped({ dryRun: 'x' }))],
    ['no repository to refresh', () => refreshRepoTemplate(nobody)],
    ['no repository to warm', () => warmRepositories([nobody])],
    ['no repository to describe', () => describeRepoTemplate(nobody)],
    ['no certificate of a lookup', () => lookUpHead({ cloneUrl }, untyped({ certificateAuthority: 7 }))],
    ['no access', () => accessed(7)],
    ['no authorization', () => accessed({ cloneUrl, authorization: 'x' })],
    ['no token', () => accessed({ cloneUrl, authorization: { scheme: 'bearer', token: '' } })],
    ['no token of a header', () => accessed({ cloneUrl, authorization: { scheme: 'bearer', token: 'a b' } })],
  ]

  test.each(asked)('%s', async (_name, ask) => {
    const error: unknown = await ask().catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      name: 'RepoTemplateError',
      code: expect.stringMatching(/^(?:OPTION_TYPE|OPTION_INVALID|NO_REPOSITORY|ACCESS_INVALID)$/),
      hint: expect.stringMatching(/^[A-Z].+\.$/),
    })
  })
})
