import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { NamedTemplateSpec } from '@warmbox/resolution'
import { createRepoTemplate, type RepoTemplateOptions } from '@warmbox/repo-template'
import { needles, repository, serve, temporaryDirectory, token, widgets, type Widgets } from './support/fixtures.ts'
import { ownSteps, runSteps, StepFailure } from './support/run-steps.ts'

const execute = promisify(execFile)

const specOf = async (
  { access, server }: Pick<Widgets, 'access' | 'server'>,
  options: Partial<RepoTemplateOptions> = {},
): Promise<NamedTemplateSpec> => {
  const deferred = createRepoTemplate({
    getRepositoryAccess: () => Promise.resolve(access),
    certificateAuthority: server.certificateAuthority,
    ...options,
  })
  if (deferred === undefined) throw new Error('no spec')
  return deferred.resolveSpec()
}

const git = async (directory: string, ...args: string[]): Promise<string> =>
  (await execute('git', ['-C', directory, ...args])).stdout.trim()

describe('the steps, run', () => {
  test('leave the commit checked out, detached, clean, with a remote that carries no credential', async () => {
    const given = await widgets()
    const spec = await specOf(given)
    const image = await runSteps(spec.template, given.server)
    const checkout = join(image.home, 'widgets')
    expect(await git(checkout, 'rev-parse', 'HEAD')).toBe(given.sha)
    expect(await git(checkout, 'status', '--porcelain')).toBe('')
    expect(await git(checkout, 'branch', '--show-current')).toBe('')
    expect(await git(checkout, 'remote', 'get-url', 'origin')).toBe(given.access.cloneUrl)
    expect(await git(checkout, 'rev-list', '--count', 'HEAD')).toBe('1')
    expect(await readFile(join(checkout, 'README.md'), 'utf8')).toBe('widgets\n')
  })

  test('check out an older commit by its id', async () => {
    const given = await widgets()
    await given.repository.commit({ 'README.md': 'newer\n' })
    const spec = await specOf(given, { sha: given.sha })
    const { home } = await runSteps(spec.template, given.server)
    expect(await git(join(home, 'widgets'), 'rev-parse', 'HEAD')).toBe(given.sha)
  })

  test('fetch everything where the host gives no commit by its id', async () => {
    const made = await repository()
    const old = await made.commit({ a: '1' })
    await made.commit({ a: '2' })
    let refused = 0
    const server = await serve({
      repositories: { 'acme/widgets.git': made.path },
      intercept: (request, response) => {
        // What a host without allowReachableSHA1InWant comes down to: the first fetch fails, a fetch of refs does not.
        if (request.method !== 'POST' || refused >= 1) return false
        refused += 1
        response.writeHead(500).end()
        return true
      },
    })
    const given = { server, access: { cloneUrl: server.cloneUrl('acme/widgets.git') } }
    const spec = await specOf(given, { sha: old })
    const image = await runSteps(spec.template, server)
    expect(await git(join(image.home, 'widgets'), 'rev-parse', 'HEAD')).toBe(old)
    expect(await git(join(image.home, 'widgets'), 'for-each-ref')).toBe('')
    expect(image.log).toContain('fetching every ref')
  })

  test('clone a repository of 64-digit ids', async () => {
    const made = await repository({ objectFormat: 'sha256' })
    const sha = await made.commit({ a: '1' })
    const server = await serve({ repositories: { 'acme/widgets.git': made.path } })
    const spec = await specOf({ server, access: { cloneUrl: server.cloneUrl('acme/widgets.git') } })
    const { home } = await runSteps(spec.template, server)
    expect(await git(join(home, 'widgets'), 'rev-parse', 'HEAD')).toBe(sha)
  })

  test('write down what the image is, without a secret', async () => {
    const given = await widgets()
    const spec = await specOf(given, { buildEnv: { REGISTRY_TOKEN: 'reg-secret-value' } })
    const { home } = await runSteps(spec.template, given.server)
    const text = await readFile(join(home, '.warmbox', 'template.json'), 'utf8')
    const isoTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    const hash = expect.stringMatching(/^[0-9a-f]{40}$/)
    expect(JSON.parse(text)).toEqual({
      version: 1,
      repository: given.access.cloneUrl.replace(/\.git$/, ''),
      path: join(home, 'widgets'),
      sha: given.sha,
      lockfiles: hash,
      worktree: hash,
      clonedAt: isoTime,
      builtAt: isoTime,
    })
    expect(text).not.toContain('reg-secret-value')
  })

  test('run setup commands in order, in the checkout, each a step that stops at its first failure', async () => {
    const given = await widgets()
    const spec = await specOf(given, { setupCommand: ['pwd > ../trace', '   ', 'echo two >> ../trace # done'] })
    const { home } = await runSteps(spec.template, given.server)
    expect(await readFile(join(home, 'trace'), 'utf8')).toBe(`${home}/widgets\ntwo\n`)

    const failing = await specOf(given, { setupCommand: ['true', 'false | cat; touch ../went-on'] })
    const failure = await runSteps(failing.template, given.server).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(StepFailure)
    expect(failure).toMatchObject({ log: expect.stringContaining('warmbox: setup 2 of 2 failed with exit code 1') })
  })

  test('give build variables to setup exactly as they are', async () => {
    const given = await widgets()
    const buildEnv = {
      DOLLAR: 'pa$$word $HOME ${PATH} $(id) `id`',
      QUOTES: `'"\\`,
      LINES: 'a\nb\n\n',
      EMPTY: '',
      UNICODE: 'žluťoučký 🐎',
      VERSIONED: { value: 'rotating', version: '1' },
    }
    const spec = await specOf(given, {
      buildEnv,
      setupCommand: Object.keys(buildEnv).map((name) => `printf %s "$${name}" > ../${name}`),
    })
    const { home } = await runSteps(spec.template, given.server)
    const seen = await Promise.all(Object.keys(buildEnv).map((name) => readFile(join(home, name), 'utf8')))
    expect(seen).toEqual([...Object.values(buildEnv).slice(0, 5), 'rotating'])
  })

  test('leave no variable with a value behind, and setup never sees the credential', async () => {
    const given = await widgets()
    const spec = await specOf(given, { buildEnv: { A: 'value-a' }, setupCommand: 'env > ../seen' })
    const image = await runSteps(spec.template, given.server)
    expect(Object.values(image.environment).filter((value) => value !== '')).toEqual([])
    const seen = await readFile(join(image.home, 'seen'), 'utf8')
    expect(needles.filter((needle) => seen.includes(needle))).toEqual([])
  })
})

describe('the steps fail', () => {
  test('in time and with their name where the credential is refused, askpass or not', async () => {
    const given = await widgets()
    const spec = await specOf(given, { sha: given.sha })
    given.server.setToken('another')
    const failure = await runSteps(spec.template, {
      ...given.server,
      environment: { GIT_ASKPASS: '/bin/cat', SSH_ASKPASS: '/bin/cat', DISPLAY: ':0' },
    }).catch((error: unknown) => error)
    expect(failure).toMatchObject({ log: expect.stringContaining('warmbox: clone failed with exit code') })
    const { log }: { log: string } = Object(failure)
    expect(needles.filter((needle) => log.includes(needle))).toEqual([])
  })

  test('in time where the host never answers', async () => {
    const server = await serve({ repositories: {}, intercept: () => true })
    const given = { server, access: { cloneUrl: server.cloneUrl('acme/widgets.git') } }
    const spec = await specOf(given, { sha: 'a'.repeat(40) })
    const patience = "'120'"
    const shortened: boolean[] = []
    const rewrite = (script: string): string => {
      shortened.push(script.includes(patience))
      return script.replaceAll(patience, "'1'")
    }
    await expect(runSteps(spec.template, { ...server, rewrite })).rejects.toMatchObject({
      log: expect.stringContaining('warmbox: clone failed with exit code'),
    })
    expect(shortened).toEqual([false, true])
  })

  test('where the commit holds no files', async () => {
    const made = await repository()
    const sha = await made.commit({})
    const server = await serve({ repositories: { 'acme/widgets.git': made.path } })
    const spec = await specOf({ server, access: { cloneUrl: server.cloneUrl('acme/widgets.git') } }, { sha })
    await expect(runSteps(spec.template, server)).rejects.toMatchObject({
      log: expect.stringContaining('the commit holds no files'),
    })
  })

  test('where the host redirects the clone, and the other host hears nothing', async () => {
    const other = await widgets()
    const server = await serve({
      repositories: {},
      intercept: (request, response) => {
        response.writeHead(302, { location: `${other.server.url}${request.url ?? ''}` }).end()
        return true
      },
    })
    const given = { server, access: { ...other.access, cloneUrl: server.cloneUrl('acme/widgets.git') } }
    const spec = await specOf(given, { sha: other.sha })
    const both = `${server.certificateAuthority}\n${other.server.certificateAuthority}`
    await expect(runSteps(spec.template, { certificateAuthority: both })).rejects.toThrow(StepFailure)
    expect(other.server.requests).toEqual([])
  })
})

describe('the credential', () => {
  test('is in no argument of git and in no file of the image', async () => {
    const given = await widgets()
    const trace = join(await temporaryDirectory(), 'trace')
    const buildEnv = { GIT_TRACE_CURL: trace, GIT_TRACE_REDACT: '0', GIT_OBJECT_DIRECTORY: trace }
    const spec = await specOf(given, { buildEnv, setupCommand: 'unset GIT_OBJECT_DIRECTORY; git log -1 > /dev/null' })
    const image = await runSteps(spec.template, {
      certificateAuthority: given.server.certificateAuthority,
      recordGit: true,
    })
    expect(image.gitCalls).toContain('fetch --quiet')
    await expect(readFile(trace)).rejects.toMatchObject({ code: 'ENOENT' })
    expect(needles.filter((needle) => image.gitCalls.includes(needle) || image.log.includes(needle))).toEqual([])
    const files = (await readdir(image.home, { recursive: true, withFileTypes: true })).filter((file) => file.isFile())
    const contents = await Promise.all(files.map((file) => readFile(join(file.parentPath, file.name), 'latin1')))
    expect(files.length).toBeGreaterThan(10)
    expect(needles.filter((needle) => contents.some((content) => content.includes(needle)))).toEqual([])
  })

  test('is sent to the origin of the clone URL and to no other', async () => {
    const given = await widgets()
    const other = await serve({ repositories: { 'acme/widgets.git': given.repository.path } })
    const spec = await specOf(given, { setupCommand: `git ls-remote ${other.cloneUrl('acme/widgets.git')}` })
    const both = `${given.server.certificateAuthority}\n${other.certificateAuthority}`
    await runSteps(spec.template, { certificateAuthority: both })
    expect(other.requests.length).toBeGreaterThan(0)
    expect(other.requests.filter(({ authorization }) => authorization !== undefined)).toEqual([])
    expect(given.server.requests.every(({ authorization }) => authorization !== undefined)).toBe(true)
  })

  test('stands right before the clone and is blanked right after it', async () => {
    const given = await widgets()
    const spec = await specOf(given, { setupCommand: 'true', buildEnv: { A: '1' } })
    const steps = await ownSteps(spec.template)
    expect(steps.map(({ type }) => type)).toEqual(['RUN', 'ENV', 'RUN', 'ENV', 'RUN', 'ENV'])
    expect(steps[1]?.args).toContain('WARMBOX_GIT_CREDENTIAL')
    expect(steps[3]?.args).toEqual(['WARMBOX_GIT_CREDENTIAL', ''])
    expect(steps[5]?.args).toEqual(['WARMBOX_ENV_A', ''])
  })

  test('changes no step before it', async () => {
    const given = await widgets()
    const one = await ownSteps((await specOf(given)).template)
    const renewed = {
      ...given,
      access: { ...given.access, authorization: { scheme: 'bearer' as const, token: 'new' } },
    }
    const two = await ownSteps((await specOf(renewed, { sha: given.sha })).template)
    expect(two[0]).toEqual(one[0])
    expect(two[1]).not.toEqual(one[1])
    expect(two.slice(2)).toEqual(one.slice(2))
  })
})

test('an unpinned clone is never served from the layer cache, a pinned one may be', async () => {
  const given = await widgets()
  const pinned = await ownSteps((await specOf(given)).template)
  await given.server.close()
  const unpinned = await ownSteps((await specOf(given)).template)
  expect(pinned.map(({ force }) => force === true)).toEqual([false, false, false, false, false])
  expect(unpinned.map(({ force }) => force === true)).toEqual([false, true, true, true, true])
})

test('an unpinned clone holds what the host gives', async () => {
  const given = await widgets()
  const spec = await specOf(given, {
    headTimeoutMs: 1,
    resolveHead: () => Promise.resolve({ status: 'unreachable', reason: 'offline' }),
  })
  const { home } = await runSteps(spec.template, given.server)
  expect(await git(join(home, 'widgets'), 'rev-parse', 'HEAD')).toBe(given.sha)
})

test('a renamed repository is cloned from where it is now, and keeps its name', async () => {
  const given = await widgets({
    intercept: (request, response) => {
      if (request.url?.startsWith('/old/') !== true) return false
      response.writeHead(301, { location: request.url.replace('/old/gadgets', '/acme/widgets') }).end()
      return true
    },
  })
  const access = { ...given.access, cloneUrl: given.server.cloneUrl('old/gadgets.git') }
  const spec = await specOf({ ...given, access })
  const { home } = await runSteps(spec.template, given.server)
  expect(await git(join(home, 'gadgets'), 'remote', 'get-url', 'origin')).toBe(given.access.cloneUrl)
  const record: { repository: string } = JSON.parse(await readFile(join(home, '.warmbox', 'template.json'), 'utf8'))
  expect(record.repository).toBe(access.cloneUrl.replace(/\.git$/, ''))
})

test('the token of the tests is odd enough to be noticed', () => {
  expect(encodeURIComponent(token)).not.toBe(token)
})
