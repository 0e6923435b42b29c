import { createServer } from 'node:net'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { resolveHead, type Head } from '@warmbox/repo-template'
import {
  needles,
  recordGit,
  repository,
  serve,
  setEnvironment,
  temporaryDirectory,
  token,
  widgets,
} from './support/fixtures.ts'

describe('a repository that answers', () => {
  test('gives the commit of its default branch, with one request', async () => {
    const { access, server, sha } = await widgets()
    const head = await resolveHead(access, { certificateAuthority: server.certificateAuthority })
    expect(head).toEqual({ status: 'found', sha, cloneUrl: access.cloneUrl })
    expect(server.requests).toEqual([
      {
        method: 'GET',
        url: '/acme/widgets.git/info/refs?service=git-upload-pack',
        authorization: `Basic ${Buffer.from(`x-access-token:${token}`).toString('base64')}`,
        status: 200,
      },
    ])
  })

  test('gives the commit of a branch, of a pull request and of the commit behind an annotated tag', async () => {
    const { access, server, repository: made, sha } = await widgets()
    const branch = await made.commit({ a: '1' }, { branch: 'feature/x' })
    await made.git('tag', '--annotate', '--message=v1', 'v1', sha)
    await made.git('tag', 'light', branch)
    await made.git('update-ref', 'refs/pull/7/head', branch)
    const options = { certificateAuthority: server.certificateAuthority }
    const shas = await Promise.all(
      [{ branch: 'feature/x' }, { tag: 'v1' }, { tag: 'light' }, { pull: 7 }].map((selection) =>
        resolveHead(access, { ...options, ...selection }),
      ),
    )
    expect(shas.map((head) => head.status === 'found' && head.sha)).toEqual([branch, sha, branch, branch])
  })

  test('may have ids of 64 digits', async () => {
    const made = await repository({ objectFormat: 'sha256' })
    const sha = await made.commit({ a: '1' })
    const server = await serve({ repositories: { r: made.path } })
    const head = await resolveHead(
      { cloneUrl: server.cloneUrl('r') },
      { certificateAuthority: server.certificateAuthority },
    )
    expect(head).toMatchObject({ status: 'found', sha })
    expect(sha).toHaveLength(64)
  })

  test('is read no further than the ref that was asked for', async () => {
    let sent = 0
    let closed = false
    const server = await serve({
      repositories: {},
      intercept: (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' })
        response.write(`001e# service=git-upload-pack\n0000${packet(`${'a'.repeat(40)} HEAD\0multi_ack`)}`)
        response.once('close', () => {
          closed = true
        })
        // A server with more refs than anybody wants to wait for.
        const more = () => {
          if (closed) return
          sent += 1
          response.write(packet(`${'b'.repeat(40)} refs/heads/${sent}`), () => setImmediate(more))
        }
        more()
        return true
      },
    })
    const head = await resolveHead(
      { cloneUrl: server.cloneUrl('endless') },
      { certificateAuthority: server.certificateAuthority },
    )
    expect(head).toMatchObject({ status: 'found', sha: 'a'.repeat(40) })
    await expect.poll(() => closed).toBe(true)
  })
})

describe('a refusal', () => {
  test.each([
    [401, 'UNAUTHORIZED'],
    [403, 'FORBIDDEN'],
    [404, 'NOT_FOUND'],
    [410, 'NOT_FOUND'],
  ])('%i is one', async (status, code) => {
    const server = await serve({ repositories: {}, intercept: (_request, response) => answer(response, status) })
    const head = await resolveHead(
      { cloneUrl: server.cloneUrl('r') },
      { certificateAuthority: server.certificateAuthority },
    )
    expect(head).toMatchObject({ status: 'refused', code })
  })

  test('a token that stopped working is one', async () => {
    const { access, server } = await widgets()
    server.setToken('another')
    expect(await resolveHead(access, { certificateAuthority: server.certificateAuthority })).toMatchObject({
      status: 'refused',
      code: 'UNAUTHORIZED',
    })
  })

  test('a page in place of a repository is one', async () => {
    const server = await serve({
      repositories: {},
      intercept: (_request, response) => answer(response, 200, { 'content-type': 'text/html' }, '<h1>Sign in</h1>'),
    })
    const head = await resolveHead(
      { cloneUrl: server.cloneUrl('r') },
      { certificateAuthority: server.certificateAuthority },
    )
    expect(head).toMatchObject({ status: 'refused', code: 'NOT_A_REPOSITORY' })
  })

  test.each([{ branch: 'gone' }, { tag: 'gone' }, { pull: 99 }])('a ref that is not there is one: %o', async (ref) => {
    const { access, server } = await widgets()
    const head = await resolveHead(access, { certificateAuthority: server.certificateAuthority, ...ref })
    expect(head).toMatchObject({ status: 'refused', code: 'REF_MISSING' })
  })

  test('an empty repository is one', async () => {
    const made = await repository()
    const server = await serve({ repositories: { r: made.path } })
    const head = await resolveHead(
      { cloneUrl: server.cloneUrl('r') },
      { certificateAuthority: server.certificateAuthority },
    )
    expect(head).toMatchObject({ status: 'refused', code: 'REF_MISSING' })
  })
})

describe('an unreachable host', () => {
  test.each([500, 502, 503, 429])('may answer %i', async (status) => {
    const server = await serve({ repositories: {}, intercept: (_request, response) => answer(response, status) })
    const head = await resolveHead(
      { cloneUrl: server.cloneUrl('r') },
      { certificateAuthority: server.certificateAuthority },
    )
    expect(head).toMatchObject({ status: 'unreachable', reason: `the host answered ${status}` })
  })

  test('may refuse the connection', async () => {
    const server = await serve({ repositories: {} })
    await server.close()
    const head = await resolveHead({ cloneUrl: server.cloneUrl('r') })
    expect(head).toMatchObject({ status: 'unreachable', reason: 'network: ECONNREFUSED' })
  })

  test('may show a certificate nobody trusts', async () => {
    const { access } = await widgets()
    expect(await resolveHead(access)).toMatchObject({
      status: 'unreachable',
      reason: expect.stringMatching(/^network: /),
    })
  })

  test('may never answer, or stop in the middle: the lookup ends in time', async () => {
    const server = await serve({
      repositories: {},
      intercept: (request, response) => {
        if (request.url?.startsWith('/half')) {
          response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' })
          response.write('001e# service=git-upload-pack\n0000')
        }
        return true
      },
    })
    const heads = await Promise.all(
      ['silent', 'half'].map((name) =>
        resolveHead(
          { cloneUrl: server.cloneUrl(name) },
          { certificateAuthority: server.certificateAuthority, timeoutMs: 200 },
        ),
      ),
    )
    expect(heads).toMatchObject([
      { status: 'unreachable', reason: 'no answer within 200 ms' },
      { status: 'unreachable', reason: 'no answer within 200 ms' },
    ])
  })

  test('is given up when the caller aborts, with the caller’s reason', async () => {
    const server = await serve({ repositories: {}, intercept: () => true })
    const controller = new AbortController()
    const lookup = resolveHead(
      { cloneUrl: server.cloneUrl('silent') },
      { certificateAuthority: server.certificateAuthority, signal: controller.signal },
    )
    await expect.poll(() => server.requests.length).toBe(1)
    controller.abort(new Error('closing'))
    await expect(lookup).rejects.toThrow('closing')
  })
})

describe('a redirect', () => {
  test('on the same origin is followed, and its target is what is cloned', async () => {
    const { access, server, sha } = await widgets({
      intercept: (request, response) =>
        request.url?.startsWith('/old/') === true &&
        answer(response, 301, { location: request.url.replace('/old/', '/acme/') }),
    })
    const head = await resolveHead(
      { ...access, cloneUrl: server.cloneUrl('old/widgets.git') },
      { certificateAuthority: server.certificateAuthority },
    )
    expect(head).toEqual({ status: 'found', sha, cloneUrl: access.cloneUrl })
  })

  test('to another host is refused, and that host hears nothing', async () => {
    const other = await widgets()
    const server = await serve({
      repositories: {},
      intercept: (request, response) => answer(response, 302, { location: `${other.server.url}${request.url ?? ''}` }),
    })
    const head = await resolveHead(
      { ...other.access, cloneUrl: server.cloneUrl('acme/widgets.git') },
      { certificateAuthority: `${server.certificateAuthority}\n${other.server.certificateAuthority}` },
    )
    expect(head).toMatchObject({ status: 'refused', code: 'REDIRECTED' })
    expect(other.server.requests).toEqual([])
  })

  test('is followed once', async () => {
    const server = await serve({
      repositories: {},
      intercept: (request, response) => answer(response, 302, { location: `/again${request.url ?? ''}` }),
    })
    const head = await resolveHead(
      { cloneUrl: server.cloneUrl('r') },
      { certificateAuthority: server.certificateAuthority },
    )
    expect(head).toMatchObject({ status: 'refused', code: 'REDIRECTED' })
    expect(server.requests).toHaveLength(2)
  })

  test('to a page is refused', async () => {
    const server = await serve({
      repositories: {},
      intercept: (_request, response) => answer(response, 302, { location: '/sign-in' }),
    })
    const head = await resolveHead(
      { cloneUrl: server.cloneUrl('r') },
      { certificateAuthority: server.certificateAuthority },
    )
    expect(head).toMatchObject({ status: 'refused', code: 'REDIRECTED' })
    expect(server.requests).toHaveLength(1)
  })
})

describe('git in place of the one request', () => {
  test('answers where the host compresses, and the token is in no argument', async () => {
    const { access, server, sha } = await compressed()
    const git = await recordGit()
    const head = await resolveHead(access, { certificateAuthority: server.certificateAuthority, timeoutMs: 30_000 })
    expect(head).toEqual({ status: 'found', sha, cloneUrl: access.cloneUrl })
    const calls = await git.calls()
    expect(calls).toEqual([`ls-remote ${access.cloneUrl} HEAD `])
    expect(needles.filter((needle) => calls.join('\n').includes(needle))).toEqual([])
  })

  test('tells a refusal by its status, with an askpass and a prompt in the environment', async () => {
    const { access, server } = await compressed()
    server.setToken('another')
    const directory = await temporaryDirectory()
    const canary = join(directory, 'asked')
    await writeFile(join(directory, 'askpass'), `#!/bin/sh\ntouch ${canary}\necho secret\n`, { mode: 0o755 })
    setEnvironment({ GIT_ASKPASS: join(directory, 'askpass'), SSH_ASKPASS: join(directory, 'askpass'), DISPLAY: ':0' })
    const head = await resolveHead(access, { certificateAuthority: server.certificateAuthority, timeoutMs: 30_000 })
    expect(head).toMatchObject({ status: 'refused', code: 'UNAUTHORIZED' })
    await expect(import('node:fs/promises').then(({ access: exists }) => exists(canary))).rejects.toThrow(/ENOENT/)
  })

  test('does not follow a redirect either', async () => {
    const other = await widgets()
    let first = true
    const server = await serve({
      repositories: {},
      intercept: (request, response) => {
        if (!first) return answer(response, 302, { location: `${other.server.url}${request.url ?? ''}` })
        first = false
        return answer(response, 200, { 'content-type': 'text/plain' })
      },
    })
    const head = await resolveHead(
      { ...other.access, cloneUrl: server.cloneUrl('acme/widgets.git') },
      {
        certificateAuthority: `${server.certificateAuthority}\n${other.server.certificateAuthority}`,
        timeoutMs: 30_000,
      },
    )
    expect(head).toMatchObject({ status: 'refused', code: 'REDIRECTED' })
    expect(other.server.requests).toEqual([])
  })

  test('ends in time too', async () => {
    let first = true
    const server = await serve({
      repositories: {},
      intercept: (_request, response) => {
        if (!first) return true
        first = false
        return answer(response, 200, { 'content-type': 'text/plain' })
      },
    })
    const head = await resolveHead(
      { cloneUrl: server.cloneUrl('r') },
      { certificateAuthority: server.certificateAuthority, timeoutMs: 1500 },
    )
    expect(head).toMatchObject({ status: 'unreachable', reason: 'no answer within 1500 ms' })
  })
})

describe('the environment', () => {
  test.each(['NODE_EXTRA_CA_CERTS', 'GIT_SSL_CAINFO'])('%s names authorities to trust', async (variable) => {
    const { access, server, sha } = await widgets()
    const file = join(await temporaryDirectory(), 'authority.pem')
    await writeFile(file, server.certificateAuthority)
    setEnvironment({ [variable]: file })
    expect(await resolveHead(access)).toMatchObject({ status: 'found', sha })
  })

  test('a file of authorities that is not there is named', async () => {
    const { access } = await widgets()
    setEnvironment({ GIT_SSL_CAINFO: '/nowhere/authority.pem' })
    expect(await resolveHead(access)).toMatchObject({
      status: 'unreachable',
      reason: 'GIT_SSL_CAINFO names a file that cannot be read',
    })
  })

  test('HTTPS_PROXY is used, and NO_PROXY makes an exception', async () => {
    const { access, server, sha } = await widgets()
    const connects: string[] = []
    const proxy = createServer((socket) => {
      socket.once('data', (data) => {
        connects.push(data.toString('latin1').split('\r\n', 1)[0] ?? '')
        socket.end('HTTP/1.1 503 Service Unavailable\r\n\r\n')
      })
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => new Promise<void>((resolve) => proxy.close(() => resolve())))
    const address = proxy.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    setEnvironment({ HTTPS_PROXY: `http://127.0.0.1:${port}` })
    const options = { certificateAuthority: server.certificateAuthority, timeoutMs: 30_000 }
    expect(await resolveHead(access, options)).toMatchObject({ status: 'unreachable' })
    expect(connects).toEqual([`CONNECT localhost:${new URL(server.url).port} HTTP/1.1`])
    setEnvironment({ NO_PROXY: 'localhost' })
    expect(await resolveHead(access, options)).toMatchObject({ status: 'found', sha })
  })
})

test('no outcome shows the token', async () => {
  const { access, server } = await widgets()
  server.setToken('another')
  const outcomes: Head[] = [
    await resolveHead(access, { certificateAuthority: server.certificateAuthority }),
    await resolveHead(access),
    await resolveHead({ ...access, cloneUrl: 'https://localhost:9/acme/widgets.git' }),
  ]
  const { inspect } = await import('node:util')
  const text = `${JSON.stringify(outcomes)} ${inspect(outcomes, { depth: 10, showHidden: true })}`
  expect(needles.filter((needle) => text.includes(needle))).toEqual([])
})

/** A compressed answer is one the request cannot read; git can. */
const compressed = async () => {
  let first = true
  return widgets({
    intercept: (_request, response) => {
      if (!first) return false
      first = false
      return answer(response, 200, {
        'content-type': 'application/x-git-upload-pack-advertisement',
        'content-encoding': 'gzip',
      })
    },
  })
}

const packet = (line: string): string => `${(line.length + 5).toString(16).padStart(4, '0')}${line}\n`

interface Answerable {
  writeHead(status: number, headers?: Record<string, string>): { end(body?: string): unknown }
}

const answer = (response: Answerable, status: number, headers: Record<string, string> = {}, body = ''): boolean => {
  response.writeHead(status, headers).end(body)
  return true
}
