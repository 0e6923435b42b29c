import { inspect } from 'node:util'
import { Template } from 'e2b'
import { describe, expect, test, vi } from 'vitest'
import { mountableTemplateId, type NamedTemplateSpec, type ResolutionEvent } from '@warmbox/resolution'
import {
  createRepoTemplate,
  type Head,
  type HeadResolver,
  RepoTemplateError,
  type RepoTemplateOptions,
  repoTemplateRef,
  type RepositoryAccess,
} from '@warmbox/repo-template'
import { needles, token, widgets } from './support/fixtures.ts'

const sha = '0123456789abcdef0123456789abcdef01234567'
const cloneUrl = 'https://git.example.com/acme/widgets.git'
const access = { cloneUrl, authorization: { scheme: 'bearer' as const, token } }
const found: Head = { status: 'found', sha, cloneUrl }

const optionsOf = (options: Partial<RepoTemplateOptions> = {}): RepoTemplateOptions => ({
  getRepositoryAccess: () => Promise.resolve(access),
  resolveHead: () => Promise.resolve(found),
  ...options,
})

const resolve = async (
  options: Partial<RepoTemplateOptions> = {},
  onEvent?: (event: ResolutionEvent) => void,
): Promise<NamedTemplateSpec> => {
  const deferred = createRepoTemplate(optionsOf(options))
  if (deferred === undefined) throw new Error('no spec')
  return deferred.resolveSpec({ onEvent })
}

describe('a session without a repository', () => {
  test('gets no template', () => {
    expect(createRepoTemplate({ getRepositoryAccess: undefined })).toBeUndefined()
  })

  test('still hears of options that can never work', () => {
    expect(() => createRepoTemplate({ getRepositoryAccess: undefined, memoryMB: 1000.5 })).toThrow(/memory/i)
  })
})

describe('a known head', () => {
  test('pins the ref anybody can compute, and keeps the earlier build at hand', async () => {
    const spec = await resolve({ setupCommand: ['pnpm install', ' '], buildEnv: { A: '1' }, memoryMB: 2048 })
    const identity = { cloneUrl, setupCommand: 'pnpm install', buildEnv: { A: '1' }, memoryMB: 2048 }
    expect(spec.ref).toBe(repoTemplateRef({ ...identity, sha }))
    expect(spec).toMatchObject({
      staleRef: repoTemplateRef(identity),
      buildTags: ['current'],
      buildResources: { cpuCount: 2, memoryMB: 2048 },
    })
    expect(spec.refused).toBeUndefined()
  })

  test('asks for access and for the head once', async () => {
    const getRepositoryAccess = vi.fn<() => Promise<RepositoryAccess>>(() => Promise.resolve(access))
    const resolveHead = vi.fn<HeadResolver>(() => Promise.resolve(found))
    await resolve({ getRepositoryAccess, resolveHead, headTimeoutMs: 1234 })
    expect(getRepositoryAccess).toHaveBeenCalledOnce()
    expect(resolveHead).toHaveBeenCalledExactlyOnceWith(access, { timeoutMs: 1234, signal: expect.any(AbortSignal) })
  })

  test('is current for as long as another lookup says the same', async () => {
    let head: Head = found
    const spec = await resolve({ resolveHead: () => Promise.resolve(head) })
    expect(await spec.isCurrent?.()).toBe(true)
    head = { status: 'found', sha: sha.replaceAll('0', 'f'), cloneUrl }
    expect(await spec.isCurrent?.()).toBe(false)
    head = { status: 'refused', code: 'UNAUTHORIZED', reason: 'the host answered 401' }
    expect(await spec.isCurrent?.()).toBe(false)
    head = { status: 'unreachable', reason: 'offline' }
    await expect(spec.isCurrent?.()).rejects.toMatchObject({ code: 'HEAD_UNREACHABLE' })
  })

  test('of another branch has a moving tag of its own; of a tag or pull request it has none', async () => {
    const main = await resolve()
    const branch = await resolve({ branch: 'feature/x' })
    const other = await resolve({ branch: 'feature/y' })
    expect(branch.ref).toMatch(new RegExp(`^${main.ref}-[0-9a-f]{16}$`))
    expect(branch.buildTags).toEqual([expect.stringMatching(/^current-[0-9a-f]{16}$/)])
    expect(branch.staleRef).toBe(`${main.ref.split(':')[0]}:${branch.buildTags?.[0]}`)
    expect(other.buildTags).not.toEqual(branch.buildTags)
    for (const spec of [await resolve({ tag: 'v1' }), await resolve({ pull: 7 })]) {
      expect(spec.ref).toMatch(new RegExp(`^${main.ref}-[0-9a-f]{16}$`))
      expect([spec.staleRef, spec.buildTags, spec.isCurrent]).toEqual([undefined, undefined, undefined])
    }
  })

  test('the host vouches for needs no lookup and moves nothing', async () => {
    const resolveHead = vi.fn<HeadResolver>(() => Promise.resolve(found))
    const spec = await resolve({ sha: sha.toUpperCase(), resolveHead })
    expect(resolveHead).not.toHaveBeenCalled()
    expect(spec.ref.endsWith(`:sha-${sha}`)).toBe(true)
    expect([spec.staleRef, spec.buildTags, spec.isCurrent]).toEqual([undefined, undefined, undefined])
  })

  test('from a resolver that answers no commit id is refused', async () => {
    await expect(
      resolve({ resolveHead: () => Promise.resolve({ status: 'found', sha: 'main; reboot', cloneUrl }) }),
    ).rejects.toMatchObject({ code: 'SHA_INVALID' })
  })
})

describe('an unreachable head', () => {
  const unreachable = { resolveHead: () => Promise.resolve<Head>({ status: 'unreachable', reason: 'offline' }) }

  test('degrades to the current build, and builds under a tag that is no commit', async () => {
    const events: ResolutionEvent[] = []
    const spec = await resolve(unreachable, (event) => events.push(event))
    const ref = repoTemplateRef({ cloneUrl })
    expect(spec).toMatchObject({ ref, buildRef: ref.replace(':current', ':unpinned') })
    expect([spec.staleRef, spec.buildTags, spec.isCurrent, spec.refused]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ])
    expect(events).toEqual([
      {
        type: 'warning',
        code: 'HEAD_UNREACHABLE',
        message: 'The head of the default branch could not be looked up: offline',
        ref,
      },
    ])
  })

  test('of a branch stays on that branch’s line', async () => {
    const spec = await resolve({ ...unreachable, branch: 'feature/x' })
    expect(spec.ref).toMatch(/:current-[0-9a-f]{16}$/)
    expect(spec.buildRef).toBe(spec.ref.replace(':current', ':unpinned'))
  })

  test.each([{ tag: 'v1' }, { pull: 7 }])('of %o boots nothing of the repository', async (selection) => {
    expect((await resolve({ ...unreachable, ...selection })).refused).toMatchObject({ code: 'HEAD_UNREACHABLE' })
  })

  test('is what a resolver that rejects comes down to', async () => {
    const spec = await resolve({ resolveHead: () => Promise.reject(new Error('defect')) })
    expect(spec.ref).toBe(repoTemplateRef({ cloneUrl }))
  })
})

describe('refused access', () => {
  const refusals: readonly [string, Partial<RepoTemplateOptions>, string][] = [
    [
      'by the host',
      {
        resolveHead: () =>
          Promise.resolve<Head>({ status: 'refused', code: 'UNAUTHORIZED', reason: 'the host answered 401' }),
      },
      'ACCESS_REFUSED',
    ],
    [
      'for want of the ref',
      { resolveHead: () => Promise.resolve<Head>({ status: 'refused', code: 'REF_MISSING', reason: 'no such ref' }) },
      'REF_MISSING',
    ],
    [
      'by an accessor that rejects',
      { getRepositoryAccess: () => Promise.reject(new TypeError('boom')) },
      'ACCESS_REFUSED',
    ],
    [
      'by an accessor that throws',
      {
        getRepositoryAccess: () => {
          throw new TypeError('boom')
        },
      },
      'ACCESS_REFUSED',
    ],
    [
      'by an accessor that answers nothing',
      { getRepositoryAccess: () => Promise.resolve(undefined) },
      'ACCESS_REFUSED',
    ],
    ['for want of the build variables', { buildEnv: () => Promise.reject(new Error('vault')) }, 'BUILD_ENV_FAILED'],
  ]

  test.each(refusals)('%s leaves nothing of the repository to boot', async (_name, options, code) => {
    const events: ResolutionEvent[] = []
    const fallbackTemplate = 'mine:1'
    const spec = await resolve({ ...options, fallbackTemplate, memoryMB: 2048 }, (event) => events.push(event))
    expect(spec.refused).toMatchObject({ code })
    expect(spec).toMatchObject({ fallbackTemplate, buildResources: { cpuCount: 2, memoryMB: 2048 } })
    expect([spec.staleRef, spec.buildTags, spec.isCurrent]).toEqual([undefined, undefined, undefined])
    // A reader that does not know `refused` finds no build under this tag, and builds no private code.
    expect(spec.ref).toMatch(/^mastra-repo-[a-z0-9-]+:refused$/)
    expect(await Template.toJSON(spec.template, false)).not.toContain('widgets')
    expect(events).toMatchObject([{ type: 'warning', code, ref: spec.ref }])
  })
})

describe('the signal', () => {
  test('ends a resolution that waits, with its reason', async () => {
    const waits: Partial<RepoTemplateOptions>[] = [
      { getRepositoryAccess: () => new Promise(() => undefined) },
      { buildEnv: () => new Promise(() => undefined) },
    ]
    for (const options of waits) {
      const controller = new AbortController()
      const resolution = createRepoTemplate(optionsOf(options))?.resolveSpec({ signal: controller.signal })
      controller.abort(new Error('closing'))
      await expect(resolution).rejects.toThrow('closing')
    }
  })

  test('reaches the head lookup', async () => {
    const controller = new AbortController()
    const resolveHead: HeadResolver = (_access, { signal } = {}) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason))
        controller.abort(new Error('closing'))
        if (signal?.aborted !== true) reject(new Error('It was not told'))
      })
    const resolution = createRepoTemplate(optionsOf({ resolveHead }))?.resolveSpec({ signal: controller.signal })
    await expect(resolution).rejects.toThrow('closing')
  })
})

describe('options', () => {
  const refused: readonly [object, string, string][] = [
    [{ setupComand: 'x' }, 'OPTION_UNKNOWN', 'setupComand'],
    [{ branch: 'a', tag: 'b' }, 'OPTION_CONFLICT', 'branch, tag'],
    [{ branch: '--upload-pack=x' }, 'OPTION_INVALID', 'branch'],
    [{ branch: 'a b' }, 'OPTION_INVALID', 'branch'],
    [{ branch: 'a..b' }, 'OPTION_INVALID', 'branch'],
    [{ tag: '' }, 'OPTION_INVALID', 'tag'],
    [{ pull: 0 }, 'OPTION_INVALID', 'pull'],
    [{ pull: 1.5 }, 'OPTION_INVALID', 'pull'],
    [{ sha: 'abc123' }, 'SHA_INVALID', 'sha'],
    [{ memoryMB: 1023 }, 'MEMORY_INVALID', 'memoryMB'],
    [{ cpuCount: 3 }, 'CPU_COUNT_INVALID', 'cpuCount'],
    [{ nodeVersion: 'lts' }, 'NODE_VERSION_INVALID', 'nodeVersion'],
    [{ workingDirectory: 'widgets' }, 'WORKING_DIRECTORY_INVALID', 'workingDirectory'],
    [{ workingDirectory: '/home/user/../root' }, 'WORKING_DIRECTORY_INVALID', 'workingDirectory'],
    [{ workingDirectory: '/home/user/' }, 'OPTION_INVALID', 'workingDirectory'],
    [{ workingDirectory: '/home/user/.warmbox' }, 'OPTION_INVALID', 'workingDirectory'],
    [{ workingDirectory: '/home/user/.warmbox/reference' }, 'OPTION_INVALID', 'workingDirectory'],
    [{ workingDirectory: '//home/user//.warmbox//parent.git/' }, 'OPTION_INVALID', 'workingDirectory'],
    [{ workingDirectory: '/home/user/.warmbox/template.json' }, 'OPTION_INVALID', 'workingDirectory'],
    [{ workingDirectory: '/home/user/.warmbox/a/b' }, 'OPTION_INVALID', 'workingDirectory'],
    [{ setupCommand: 7 }, 'OPTION_TYPE', 'setupCommand'],
    [{ setupCommand: [7] }, 'OPTION_TYPE', 'setupCommand'],
    [{ buildEnv: { 'A B': 'x' } }, 'ENV_NAME_INVALID', 'buildEnv'],
    [{ buildEnv: { UID: '0' } }, 'OPTION_INVALID', 'buildEnv.UID'],
    [{ buildEnv: { WARMBOX_GIT_CREDENTIAL: 'x' } }, 'OPTION_INVALID', 'buildEnv.WARMBOX_GIT_CREDENTIAL'],
    [{ headTimeoutMs: 0 }, 'OPTION_INVALID', 'headTimeoutMs'],
    [{ getRepositoryAccess: 'x' }, 'OPTION_TYPE', 'getRepositoryAccess'],
    [{ prefix: 'No Spaces' }, 'NAME_INVALID', 'prefix'],
  ]

  test.each(refused)('%o is refused at once', (options, code, field) => {
    const create = () => createRepoTemplate({ ...optionsOf(), ...options })
    expect(create).toThrow(expect.objectContaining({ code, field }))
  })

  test('a directory of its own may have a name like one that is taken', () => {
    for (const workingDirectory of ['/home/user/.warmbox2', '/home/user/a/.warmbox', '/home/user2']) {
      expect(createRepoTemplate(optionsOf({ workingDirectory }))).toBeDefined()
    }
    expect(() => createRepoTemplate(optionsOf({ workingDirectory: '/home/user/.warmbox/a' }))).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('outside of /home/user/.warmbox') }),
    )
  })

  test('a misspelt one is told what was meant', () => {
    const options = Object.assign(optionsOf(), { setupcommand: 'x' })
    expect(() => createRepoTemplate(options)).toThrow(expect.objectContaining({ hint: "Did you mean 'setupCommand'?" }))
  })

  test.each([
    ['git@github.com:acme/widgets.git', 'CLONE_URL_PROTOCOL'],
    ['https://someone:secret@github.com/acme/widgets', 'CLONE_URL_CREDENTIALS'],
    ['http://github.com/acme/widgets', 'CLONE_URL_PROTOCOL'],
  ])('the clone URL %s is refused before any lookup', async (url, code) => {
    const resolveHead = vi.fn<HeadResolver>(() => Promise.resolve(found))
    const getRepositoryAccess = () => Promise.resolve({ cloneUrl: url })
    await expect(resolve({ getRepositoryAccess, resolveHead })).rejects.toMatchObject({ code })
    expect(resolveHead).not.toHaveBeenCalled()
  })

  test.each(['', 'two\r\nLines: x', 'spa ce'])('the token %j is refused', async (bad) => {
    const getRepositoryAccess = () =>
      Promise.resolve({ cloneUrl, authorization: { scheme: 'bearer' as const, token: bad } })
    await expect(resolve({ getRepositoryAccess })).rejects.toMatchObject({ code: 'ACCESS_INVALID' })
  })

  test('that build another image build another name', async () => {
    const changes: Partial<RepoTemplateOptions>[] = [
      {},
      { setupCommand: 'a' },
      { setupCommand: ['a', 'b'] },
      { buildEnv: { A: '1' } },
      { buildEnv: { A: '2' } },
      { buildEnv: { A: { value: '1', version: '1' } } },
      { cpuCount: 4 },
      { memoryMB: 512 },
      { nodeVersion: '22.22.0' },
      { workingDirectory: '/home/user/elsewhere' },
      { salt: 's' },
      { extra: { a: '1' } },
      { prefix: 'mine' },
    ]
    const refs = await Promise.all(changes.map(async (options) => (await resolve(options)).ref))
    expect(new Set(refs).size).toBe(changes.length)
  })

  test('that build the same image keep the name', async () => {
    const { ref } = await resolve({ buildEnv: { A: { value: '1', version: '1' } }, setupCommand: 'a' })
    const same: Partial<RepoTemplateOptions>[] = [
      { buildEnv: { A: { value: '2', version: '1' } } },
      { buildEnv: () => Promise.resolve({ A: { value: '3', version: '1' } }) },
      { setupCommand: ['', 'a', '  '] },
      { cpuCount: 2, memoryMB: 1024, nodeVersion: '24.20.0' },
      { workingDirectory: '/home/user//widgets/' },
      { fallbackTemplate: 'other' },
      { headTimeoutMs: 5 },
    ]
    const refs = await Promise.all(
      same.map(
        async (options) =>
          (await resolve({ buildEnv: { A: { value: '1', version: '1' } }, setupCommand: 'a', ...options })).ref,
      ),
    )
    expect(new Set(refs)).toEqual(new Set([ref]))
  })

  test('of the base are part of the identity', async () => {
    const spec = await resolve({ nodeVersion: '22.22.0', cpuCount: 4 })
    const baseTemplateId = mountableTemplateId({ nodeVersion: '22.22.0', cpuCount: 4 })
    expect(spec.ref).toBe(repoTemplateRef({ cloneUrl, sha, cpuCount: 4, baseTemplateId }))
  })
})

describe('what a spec shows', () => {
  test('is no secret, in JSON and in logs', async () => {
    const spec = await resolve({ buildEnv: { NPM_TOKEN: 'npm-secret-value' } })
    const secrets = [...needles, 'npm-secret-value', Buffer.from('npm-secret-value').toString('base64')]
    const text = `${JSON.stringify({ spec })} ${inspect({ spec }, { depth: 20 })}`
    expect(text).toContain(spec.ref)
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([])
    const { ref, staleRef, buildTags, buildResources } = spec
    // Without the builder: what it shows of its steps is e2b's to decide, and differs between its versions.
    expect(JSON.parse(JSON.stringify(spec))).toEqual({ ref, staleRef, buildTags, buildResources })
    expect(Object.keys(spec)).not.toContain('redact')
    expect(spec.redact).toEqual([token, 'npm-secret-value'])
  })

  test('of a refusal is not the error of the accessor', async () => {
    const spec = await resolve({
      getRepositoryAccess: () => Promise.reject(new Error(`could not use ${token}`)),
    })
    const text = `${JSON.stringify(spec)} ${inspect(spec, { depth: 3 })}`
    expect(needles.filter((needle) => text.includes(needle))).toEqual([])
  })
})

test('access revoked between two sessions boots neither the new nor the earlier build', async () => {
  const given = await widgets()
  const deferred = createRepoTemplate({
    getRepositoryAccess: () => Promise.resolve(given.access),
    certificateAuthority: given.server.certificateAuthority,
  })
  expect(await deferred?.resolveSpec()).toMatchObject({ ref: expect.stringContaining(`:sha-${given.sha}`) })
  given.server.setToken('another')
  const spec = await deferred?.resolveSpec()
  expect(spec?.refused).toEqual({ code: 'ACCESS_REFUSED', message: 'the host answered 401' })
  expect(spec?.staleRef).toBeUndefined()
})

test('errors are of one class and say nothing but their fields', () => {
  const error = new RepoTemplateError({ code: 'OPTION_INVALID', field: 'x', message: 'm', cause: new Error(token) })
  expect(JSON.parse(JSON.stringify(error))).toEqual({
    name: 'RepoTemplateError',
    code: 'OPTION_INVALID',
    message: 'm',
    field: 'x',
  })
})
