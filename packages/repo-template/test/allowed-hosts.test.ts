import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import {
  createRepoTemplate,
  refreshRepoTemplate,
  resolveHead,
  resolveHeadWithGit,
  syncRepository,
} from '@warmbox/repo-template'
import { setEnvironment, temporaryDirectory, widgets } from './support/fixtures.ts'

/** Of no network there is, but of the range that is handed out to everybody. */
const unassigned = '2fff::1'
let answers: { address: string; family: number }[]
const lookups: string[] = []
beforeEach(() => {
  answers = [{ address: unassigned, family: 6 }]
  lookups.length = 0
})

vi.mock('node:dns/promises', () => ({
  lookup: (name: string) => {
    lookups.push(name)
    return Promise.resolve(answers)
  },
}))

const options = { allowedHosts: ['*'], timeoutMs: 5000 }
const notPublic = { status: 'refused', code: 'ADDRESS_NOT_PUBLIC' }

const executeCommand = () => Promise.reject(new Error('nothing is to run'))

describe('a host that is not listed', () => {
  test.each([
    ['https://evil.example/o/r', ['github.com']],
    ['https://github.com:8443/o/r', ['github.com']],
    ['https://github.com.evil.example/o/r', ['github.com', '*.github.com']],
    ['https://evilgithub.com/o/r', ['*.github.com']],
    ['https://github.com:8443/o/r', ['*']],
    ['https://github.com/o/r', []],
  ])('%s is refused where %o are', async (cloneUrl, allowedHosts) => {
    const refused = { status: 'refused', code: 'HOST_NOT_ALLOWED' }
    expect(await resolveHead({ cloneUrl }, { allowedHosts })).toMatchObject(refused)
    expect(await resolveHead({ cloneUrl }, { allowedHosts, sha: 'a'.repeat(40) })).toMatchObject(refused)
    expect(lookups).toEqual([])
  })

  test('boots, builds and syncs nothing of its repository, with a commit the caller vouches for too', async () => {
    const given = {
      getRepositoryAccess: () => Promise.resolve({ cloneUrl: 'https://evil.example/o/r' }),
      allowedHosts: ['github.com'],
      sha: 'a'.repeat(40),
    }
    const spec = await createRepoTemplate(given)?.resolveSpec()
    expect(spec?.refused).toMatchObject({ code: 'ACCESS_REFUSED', message: expect.stringContaining('allowedHosts') })
    await expect(refreshRepoTemplate(given, { apiKey: 'e2b_0' })).rejects.toMatchObject({ code: 'ACCESS_REFUSED' })
    await expect(syncRepository({ executeCommand }, given)).rejects.toMatchObject({ code: 'ACCESS_REFUSED' })
  })
})

describe('an address that is not public', () => {
  test.each([
    'localhost',
    'git.localhost',
    '127.0.0.1',
    '10.1.2.3',
    '172.31.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '[::1]',
    '[::]',
    '[fe80::1]',
    '[fd00::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:a9fe:a9fe]',
    '[64:ff9b::a00:1]',
    '[2002:7f00:1::]',
  ])('as the host of the URL is refused: %s', async (host) => {
    expect(await resolveHead({ cloneUrl: `https://${host}/o/r` }, options)).toMatchObject(notPublic)
    expect(lookups).toEqual([])
  })

  test.each([
    '127.0.0.1',
    '10.0.0.1',
    '169.254.169.254',
    '::1',
    'fe80::1%eth0',
    '::ffff:10.0.0.1',
    'fc00::1',
    '2001:db8::1',
  ])('behind a name is refused: %s', async (address) => {
    answers = [{ address, family: address.includes(':') ? 6 : 4 }]
    expect(await resolveHead({ cloneUrl: 'https://git.example.com/o/r' }, options)).toMatchObject(notPublic)
  })

  test('among public ones is refused', async () => {
    answers = [...answers, { address: '192.168.0.1', family: 4 }]
    expect(await resolveHead({ cloneUrl: 'https://git.example.com/o/r' }, options)).toMatchObject(notPublic)
  })
})

describe('a listed host', () => {
  test('may be anywhere, on exactly that port', async () => {
    const { access, server, sha } = await widgets()
    const { host, port } = new URL(server.url)
    const trusting = { certificateAuthority: server.certificateAuthority }
    expect(await resolveHead(access, { ...trusting, allowedHosts: ['*', host.toUpperCase()] })).toMatchObject({ sha })
    expect(await resolveHead(access, { ...trusting, allowedHosts: ['localhost'] })).toMatchObject({
      code: 'HOST_NOT_ALLOWED',
    })
    expect(await resolveHead(access, { ...trusting, allowedHosts: [`127.0.0.1:${port}`] })).toMatchObject({
      code: 'HOST_NOT_ALLOWED',
    })
    expect(lookups).toEqual([])
  })
})

describe('a name that was looked at', () => {
  // The name has no address but the one the mock gives: whoever resolves it again finds none.
  const cloneUrl = 'https://rebinding.invalid/o/r'

  test('is connected to at that address and never resolved again', async () => {
    const head = await resolveHead({ cloneUrl }, options)
    expect(head).toMatchObject({ status: 'unreachable' })
    expect(JSON.stringify(head)).not.toContain('ENOTFOUND')
    expect(lookups).toEqual(['rebinding.invalid'])
  })

  test('is given to git together with its address', async () => {
    const directory = await temporaryDirectory()
    const seen = join(directory, 'seen')
    const path = process.env['PATH'] ?? ''
    await writeFile(
      join(directory, 'git'),
      `#!/bin/bash\n[ "$1" != ls-remote ] || env > '${seen}'\nPATH='${path}' exec git "$@"\n`,
      { mode: 0o755 },
    )
    setEnvironment({ PATH: `${directory}:${path}` })
    expect(await resolveHeadWithGit({ cloneUrl }, options)).toMatchObject({ status: 'unreachable' })
    const environment = await readFile(seen, 'utf8')
    const [, index] = /^GIT_CONFIG_KEY_(\d+)=http\.curloptResolve$/m.exec(environment) ?? []
    expect(environment).toContain(`\nGIT_CONFIG_VALUE_${index}=rebinding.invalid:443:[${unassigned}]\n`)
  })

  test('is not asked for by a git too old to be held to it', async () => {
    const directory = await temporaryDirectory()
    const calls = join(directory, 'calls')
    await writeFile(join(directory, 'git'), `#!/bin/sh\necho "$1" >> '${calls}'\necho git version 2.36.9\n`, {
      mode: 0o755,
    })
    setEnvironment({ PATH: `${directory}:${process.env['PATH'] ?? ''}` })
    const head = await resolveHeadWithGit({ cloneUrl }, options)
    expect(head).toMatchObject({ status: 'unreachable', reason: expect.stringContaining('git 2.36') })
    expect(await readFile(calls, 'utf8')).toBe('version\n')
  })
})

const noLists: readonly object[] = [
  { allowedHosts: 'github.com' },
  { allowedHosts: [7] },
  { allowedHosts: ['https://github.com'] },
  { allowedHosts: ['*github.com'] },
  { allowedHosts: ['a b'] },
  { allowedHosts: [''] },
]

test.each(noLists)('%o is no list of hosts', (given) => {
  expect(() => createRepoTemplate({ getRepositoryAccess: undefined, ...given })).toThrow(
    expect.objectContaining({ field: 'allowedHosts', code: expect.stringMatching(/^OPTION_(?:TYPE|INVALID)$/) }),
  )
})

test.each([{ submodules: true }, { lfs: true }])('an upload with %o would reach hosts nobody allowed', (parts) => {
  const given = { getRepositoryAccess: undefined, allowedHosts: ['*'], ...parts }
  expect(() => createRepoTemplate({ ...given, source: 'upload' })).toThrow(
    expect.objectContaining({ code: 'OPTION_CONFLICT', field: 'allowedHosts' }),
  )
  expect(() => createRepoTemplate(given)).not.toThrow()
})
