import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { writeFile } from 'node:fs/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  createRepoTemplate,
  type HeadResolver,
  resolveHead,
  resolveHeadOverHttp,
  resolveHeadWithGit,
} from '@warmbox/repo-template'
import { recordGit, serve, setEnvironment, temporaryDirectory, widgets } from './support/fixtures.ts'

const resolvers: readonly (readonly [string, HeadResolver])[] = [
  ['the one request', resolveHeadOverHttp],
  ['git', resolveHeadWithGit],
  ['both', resolveHead],
]

describe.each(resolvers)('%s', (_name, resolve) => {
  test('finds every kind of ref, and the commit behind an annotated tag', async () => {
    const { access, server, repository, sha } = await widgets()
    const other = await repository.commit({ a: '1' }, { branch: 'feature/x' })
    await repository.git('tag', '--annotate', '--message=v1', 'v1', sha)
    await repository.git('update-ref', 'refs/pull/7/head', other)
    await repository.git('update-ref', 'refs/merge-requests/9/head', other)
    const options = { certificateAuthority: server.certificateAuthority, timeoutMs: 60_000 }
    const heads = [{}, { branch: 'feature/x' }, { tag: 'v1' }, { pull: 7 }, { mergeRequest: 9 }]
    const found = await Promise.all(heads.map((selection) => resolve(access, { ...options, ...selection })))
    expect(found.map((head) => head.status === 'found' && head.sha)).toEqual([sha, other, sha, other, other])
  })

  test('tells refused from unreachable', async () => {
    const { access, server } = await widgets()
    const options = { certificateAuthority: server.certificateAuthority, timeoutMs: 60_000 }
    const gone = await resolve(access, { ...options, branch: 'gone' })
    expect(gone).toMatchObject({ status: 'refused', code: 'REF_MISSING' })
    server.setToken('another')
    expect(await resolve(access, options)).toMatchObject({ status: 'refused', code: 'UNAUTHORIZED' })
    await server.close()
    expect(await resolve(access, options)).toMatchObject({ status: 'unreachable' })
  })

  test('follows a redirect on the same origin once, and answers what is to be cloned', async () => {
    const { access, server, sha } = await widgets({
      intercept: (request, response) => {
        if (request.url?.startsWith('/old/') !== true) return false
        response.writeHead(301, { location: request.url.replace('/old/', '/acme/') }).end()
        return true
      },
    })
    const moved = { ...access, cloneUrl: server.cloneUrl('old/widgets.git') }
    const head = await resolve(moved, { certificateAuthority: server.certificateAuthority, timeoutMs: 60_000 })
    expect(head).toEqual({ status: 'found', sha, cloneUrl: access.cloneUrl })
  })

  test('refuses a redirect to another host, a second one, and one to a page', async () => {
    const other = await widgets()
    const server = await serve({
      repositories: {},
      intercept: (request, response) => {
        const path = request.url ?? ''
        const location = path.startsWith('/away')
          ? `${other.server.url}/acme/widgets.git/info/refs?service=git-upload-pack`
          : path.startsWith('/again')
            ? `/again${path}`
            : '/sign-in'
        response.writeHead(302, { location }).end()
        return true
      },
    })
    const certificateAuthority = `${server.certificateAuthority}\n${other.server.certificateAuthority}`
    for (const name of ['away', 'again', 'page']) {
      const access = { ...other.access, cloneUrl: server.cloneUrl(name) }
      const head = await resolve(access, { certificateAuthority, timeoutMs: 60_000 })
      expect(head).toMatchObject({ status: 'refused', code: 'REDIRECTED' })
    }
    expect(other.server.requests).toEqual([])
    expect(server.requests.map(({ url }) => url.split('/')[1])).toEqual(['away', 'again', 'again', 'page'])
  })

  test('refuses a page in place of a repository, whatever the page is called', async () => {
    const types = ['text/html', 'text/plain', 'application/xhtml+xml; charset=utf-8', 'application/octet-stream']
    const server = await serve({
      repositories: {},
      intercept: (request, response) => {
        const [, index, status] = /^\/(\d)-(\d+)\//.exec(request.url ?? '') ?? []
        response.writeHead(Number(status), { 'content-type': types[Number(index)] ?? '' }).end('<p>Sign in</p>')
        return true
      },
    })
    const options = { certificateAuthority: server.certificateAuthority, timeoutMs: 60_000 }
    for (const [index, type] of types.entries()) {
      for (const status of [200, 203]) {
        const head = await resolve({ cloneUrl: server.cloneUrl(`${index}-${status}`) }, options)
        expect([type, status, head]).toEqual([
          type,
          status,
          expect.objectContaining({ status: 'refused', code: 'NOT_A_REPOSITORY' }),
        ])
      }
    }
  })

  test('ends in time where the host says nothing, and where it goes on saying a little', async () => {
    const server = await serve({
      repositories: {},
      intercept: (request, response) => {
        if (request.url?.startsWith('/drip') !== true) return true
        response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' })
        response.write('001e# service=git-upload-pack\n0000fff0')
        const drip = setInterval(() => response.write('x'), 50)
        response.once('close', () => clearInterval(drip))
        return true
      },
    })
    const options = { certificateAuthority: server.certificateAuthority, timeoutMs: 1500 }
    const heads = await Promise.all(
      ['silent', 'drip'].map((name) => resolve({ cloneUrl: server.cloneUrl(name) }, options)),
    )
    const late = { status: 'unreachable', reason: 'no answer within 1500 ms' }
    expect(heads).toMatchObject([late, late])
  })

  test('needs no lookup for a commit', async () => {
    const { access, server, sha } = await widgets()
    const git = await recordGit()
    expect(await resolve(access, { sha: sha.toUpperCase() })).toEqual({
      status: 'found',
      sha,
      cloneUrl: access.cloneUrl,
    })
    expect(server.requests).toEqual([])
    expect(await git.calls()).toEqual([])
    await expect(resolve(access, { sha: 'main' })).rejects.toMatchObject({ code: 'SHA_INVALID' })
  })
})

test('the one request starts no process, and git makes no request of this process', async () => {
  const { access, server, sha } = await widgets()
  const git = await recordGit()
  const options = { certificateAuthority: server.certificateAuthority, timeoutMs: 60_000 }
  expect(await resolveHeadOverHttp(access, options)).toMatchObject({ sha })
  expect(await git.calls()).toEqual([])
  expect(await resolveHeadWithGit(access, options)).toMatchObject({ sha })
  expect(await git.calls()).toEqual([`ls-remote ${access.cloneUrl} HEAD `])
})

test('git understands a host that serves the files of a repository', async () => {
  const sha = 'a'.repeat(40)
  const server = await serve({
    repositories: {},
    intercept: (request, response) => {
      const isRefs = request.url?.includes('/info/refs') === true
      response.writeHead(200, { 'content-type': 'text/plain' })
      response.end(isRefs ? `${sha}\trefs/heads/main\n` : 'ref: refs/heads/main\n')
      return true
    },
  })
  const access = { cloneUrl: server.cloneUrl('r') }
  const options = { certificateAuthority: server.certificateAuthority, timeoutMs: 60_000 }
  expect(await resolveHead(access, options)).toMatchObject({ status: 'found', sha })
  expect(await resolveHead(access, { ...options, branch: 'gone' })).toMatchObject({ status: 'refused' })
})

test('without git on the machine, its answer is that nobody knows', async () => {
  const { access, server } = await widgets()
  setEnvironment({ PATH: await temporaryDirectory() })
  const head = await resolveHeadWithGit(access, { certificateAuthority: server.certificateAuthority })
  expect(head).toEqual({ status: 'unreachable', reason: 'git is not installed' })
})

test('git is not asked by any askpass, helper or configuration of this machine', async () => {
  const { access, server } = await widgets()
  server.setToken('another')
  const home = await temporaryDirectory()
  const canary = join(home, 'asked')
  await writeFile(join(home, 'askpass'), `#!/bin/sh\ntouch '${canary}'\necho secret\n`, { mode: 0o755 })
  await writeFile(join(home, '.gitconfig'), `[credential]\n\thelper = "!touch '${canary}'"\n`)
  await writeFile(join(home, '.netrc'), 'machine localhost login x-access-token password another\n')
  const askpass = join(home, 'askpass')
  setEnvironment({ HOME: home, GIT_ASKPASS: askpass, SSH_ASKPASS: askpass, DISPLAY: ':0' })
  const head = await resolveHeadWithGit(access, {
    certificateAuthority: server.certificateAuthority,
    timeoutMs: 60_000,
  })
  expect(head).toMatchObject({ status: 'refused', code: 'UNAUTHORIZED' })
  await expect(import('node:fs/promises').then(({ stat }) => stat(canary))).rejects.toThrow(/ENOENT/)
})

const proxy = async (onConnect: (socket: Socket) => void): Promise<string> => {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    socket.once('data', () => onConnect(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())))
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
}

describe('a proxy', () => {
  test.each([
    ['that refuses the way is no refusal of the host', 'HTTP/1.1 403 Forbidden\r\n\r\n', 'the proxy answered 403'],
    [
      'whose tunnel breaks is none either',
      'HTTP/1.1 200 Connection established\r\n\r\n',
      'git ended with exit code 128',
    ],
  ])('%s', async (_name, reply, said) => {
    const { access, server } = await widgets()
    setEnvironment({ HTTPS_PROXY: await proxy((socket) => socket.end(reply)), NO_PROXY: '' })
    const head = await resolveHeadWithGit(access, {
      certificateAuthority: server.certificateAuthority,
      timeoutMs: 60_000,
    })
    expect(head).toEqual({ status: 'unreachable', reason: said })
    expect(server.requests).toEqual([])
  })
})

test('a template is looked up by the resolver it was given', async () => {
  const { access, server, sha } = await widgets()
  const git = await recordGit()
  const options = {
    getRepositoryAccess: () => Promise.resolve(access),
    certificateAuthority: server.certificateAuthority,
    headTimeoutMs: 60_000,
  }
  const spec = await createRepoTemplate({ ...options, resolveHead: resolveHeadWithGit })?.resolveSpec()
  expect(spec?.ref).toContain(`:sha-${sha}`)
  expect(await git.calls()).toHaveLength(1)
})
