import { expect, test } from 'vitest'
import {
  createRepoTemplate,
  describeRepoTemplate,
  type HeadResolver,
  pruneRepoTemplates,
  refreshRepoTemplate,
  type RepoTemplateOptions,
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
  ['apiKeyy', () => pruneRepoTemplates(optionsOf(), {}, untyped({ apiKeyy: 'e2b_0' }))],
])('a misspelt name in a connection is refused: %s', async (field, asked) => {
  await expect(asked()).rejects.toMatchObject({ code: 'OPTION_UNKNOWN', field })
})
