import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createRepository, lfsPointer, startGitServer, type GitServer, type Repository } from '@warmbox/git-server'

const execute = promisify(execFile)
const token = 'tok-value-1'
const basic = `Basic ${Buffer.from(`x-access-token:${token}`).toString('base64')}`

let repository: Repository
let first: string
let second: string
let directory: string
const servers: GitServer[] = []

beforeAll(async () => {
  repository = await createRepository()
  first = await repository.commit({ 'README.md': 'one\n' })
  second = await repository.commit({ 'README.md': 'two\n' })
  directory = await mkdtemp(join(tmpdir(), 'warmbox-git-test-'))
})

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

afterAll(async () => {
  await repository.remove()
  await rm(directory, { recursive: true })
})

const start = async (options: { token?: string; tls?: boolean } = {}): Promise<GitServer> => {
  const server = await startGitServer({ repositories: { 'acme/widgets.git': repository.path }, ...options })
  servers.push(server)
  return server
}

const git = async (server: GitServer, header: string | undefined, ...args: string[]) => {
  const authority = join(directory, `authority-${new URL(server.url).port}.pem`)
  await writeFile(authority, server.certificateAuthority)
  return execute('git', args, {
    cwd: directory,
    env: {
      PATH: process.env['PATH'],
      HOME: directory,
      GIT_TERMINAL_PROMPT: '0',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_SSL_CAINFO: authority,
      ...(header === undefined
        ? {}
        : {
            GIT_CONFIG_COUNT: '1',
            GIT_CONFIG_KEY_0: `http.${server.url}/.extraheader`,
            GIT_CONFIG_VALUE_0: `Authorization: ${header}`,
          }),
    },
  })
}

test.each([
  ['basic', basic],
  ['bearer', `Bearer ${token}`],
])('clones over TLS with the token in %s form', async (name, header) => {
  const server = await start({ token })
  await git(server, header, 'clone', '--quiet', server.cloneUrl('acme/widgets.git'), `clone-${name}`)
  expect(await readFile(join(directory, `clone-${name}`, 'README.md'), 'utf8')).toBe('two\n')
  expect(server.requests.map(({ method, status }) => `${method} ${status}`)).toEqual([
    'GET 200',
    'POST 200',
    'POST 200',
  ])
  expect(server.requests.every(({ authorization }) => authorization === header)).toBe(true)
})

test.each([
  ['no credential', undefined],
  ['another token', 'Bearer other'],
  ['the token under another user', `Basic ${Buffer.from(`oauth2:${token}`).toString('base64')}`],
])('answers 401 to %s', async (_name, header) => {
  const server = await start({ token })
  await expect(git(server, header, 'ls-remote', server.cloneUrl('acme/widgets.git'))).rejects.toThrow(
    /could not read Username|Authentication failed/,
  )
  expect(server.requests.map(({ status }) => status)).toEqual([401])
})

test('a replaced token stops working and the new one works', async () => {
  const server = await start({ token })
  server.setToken('tok-value-2')
  await expect(git(server, basic, 'ls-remote', server.cloneUrl('acme/widgets.git'))).rejects.toThrow(
    /could not read Username|Authentication failed/,
  )
  const { stdout } = await git(server, 'Bearer tok-value-2', 'ls-remote', server.cloneUrl('acme/widgets.git'), 'HEAD')
  expect(stdout).toBe(`${second}\tHEAD\n`)
})

test('serves a commit by its id although no ref names it', async () => {
  const server = await start()
  await git(server, undefined, 'init', '--quiet', 'by-id')
  await git(
    server,
    undefined,
    '-C',
    'by-id',
    'fetch',
    '--quiet',
    '--depth=1',
    server.cloneUrl('acme/widgets.git'),
    first,
  )
  const { stdout } = await git(server, undefined, '-C', 'by-id', 'rev-parse', 'FETCH_HEAD')
  expect(stdout.trim()).toBe(first)
})

test('knows no repository but those it was given', async () => {
  const server = await start()
  await expect(git(server, undefined, 'ls-remote', server.cloneUrl('acme/other.git'))).rejects.toThrow(/not found/)
  await expect(git(server, undefined, 'ls-remote', server.cloneUrl('acme/../acme/other.git'))).rejects.toThrow(
    /not found/,
  )
  expect(server.requests.map(({ status }) => status)).toEqual([404, 404])
})

test('does not accept a push', async () => {
  const server = await start()
  await git(server, undefined, 'clone', '--quiet', server.cloneUrl('acme/widgets.git'), 'pushing')
  await expect(git(server, undefined, '-C', 'pushing', 'push', 'origin', 'HEAD:refs/heads/other')).rejects.toThrow(
    /403/,
  )
  expect(await repository.git('for-each-ref', 'refs/heads/other')).toBe('')
})

const backendsOfThisProcess = async (): Promise<string[]> => {
  const { stdout } = await execute('ps', ['-eo', 'ppid,args'])
  return stdout.split('\n').filter((line) => line.trim().startsWith(`${process.pid} `) && line.includes('http-backend'))
}

test('closing ends a git process that still waits for its client', async () => {
  const server = await start({ tls: false })
  const upload = request(`${server.cloneUrl('acme/widgets.git')}/git-upload-pack`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-git-upload-pack-request' },
  })
  const cut = new Promise<string>((resolve) => upload.once('error', () => resolve('cut')))
  upload.write('0')
  await expect.poll(backendsOfThisProcess).toHaveLength(1)
  await server.close()
  expect(await backendsOfThisProcess()).toEqual([])
  expect(await cut).toBe('cut')
})

test('an interceptor answers in place of git', async () => {
  const server = await startGitServer({
    repositories: {},
    tls: false,
    intercept: (_request, response) => {
      response.writeHead(302, { location: '/elsewhere' }).end()
      return true
    },
  })
  servers.push(server)
  const answer = await fetch(server.url, { redirect: 'manual' })
  expect(answer.status).toBe(302)
  expect(server.requests).toEqual([{ method: 'GET', url: '/', authorization: undefined, status: 302 }])
})

test('LFS files are named in a batch and given from where it says, behind the token', async () => {
  const contents = await startGitServer({ repositories: {}, tls: false, lfs: { files: ['large'] } })
  const server = await startGitServer({
    repositories: {},
    tls: false,
    token,
    lfs: { files: ['large'], contentAt: contents.url },
  })
  servers.push(contents, server)
  const [, oid = '', size = ''] = /oid sha256:(\w+)\nsize (\d+)\n/.exec(lfsPointer('large')) ?? []
  const missing = { oid: 'a'.repeat(64), size: 1 }
  const batch = (headers: Record<string, string>) =>
    fetch(`${server.cloneUrl('acme/widgets.git')}/info/lfs/objects/batch`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ operation: 'download', objects: [{ oid, size: Number(size) }, missing] }),
    })
  expect((await batch({})).status).toBe(401)
  const href = `${contents.url}/lfs/contents/${oid}`
  expect(await (await batch({ authorization: basic })).json()).toEqual({
    transfer: 'basic',
    objects: [
      { oid, size: 5, actions: { download: { href } } },
      { ...missing, error: { code: 404, message: 'There is no such object' } },
    ],
  })
  expect(await (await fetch(href)).text()).toBe('large')
  expect((await fetch(href.replace(oid, missing.oid))).status).toBe(404)
})
