import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { createRepoTemplate, type RepoTemplateOptions } from '@warmbox/repo-template'
import type { GitServer, Repository } from '@warmbox/git-server'
import { needles, repository, serve, temporaryDirectory, token, type Widgets, widgets } from './support/fixtures.ts'
import { filesWithNeedles } from './support/files-with-needles.ts'
import { ownSteps, runSteps, StepFailure } from './support/run-steps.ts'
import { addSubmodules } from './support/submodules.ts'

const execute = promisify(execFile)

const templateOf = async (given: Widgets, options: Partial<RepoTemplateOptions>) => {
  const deferred = createRepoTemplate({
    getRepositoryAccess: () => Promise.resolve(given.access),
    certificateAuthority: given.server.certificateAuthority,
    headTimeoutMs: 60_000,
    ...options,
  })
  if (deferred === undefined) throw new Error('no spec')
  return (await deferred.resolveSpec()).template
}

const git = async (directory: string, ...args: string[]): Promise<string> =>
  (await execute('git', ['-C', directory, ...args])).stdout.trim()

const both = (given: { server: GitServer; other: GitServer }) => ({
  certificateAuthority: `${given.server.certificateAuthority}\n${given.other.certificateAuthority}`,
})

const withSubmodules = async (): Promise<Widgets & { other: GitServer; library: Repository }> => {
  const library = await repository()
  const nested = await repository()
  const nestedSha = await nested.commit({ 'nested.txt': 'nested\n' })
  const made = await repository()
  await made.commit({ 'README.md': 'widgets\n' })
  const server = await serve({
    repositories: {
      'acme/widgets.git': made.path,
      'acme/library.git': library.path,
      'acme/nested.git': nested.path,
    },
    token,
  })
  await library.commit({ 'library.txt': 'library\n' })
  const librarySha = await addSubmodules(library, { deeper: { url: '../nested.git', sha: nestedSha } })
  const foreign = await repository()
  const foreignSha = await foreign.commit({ 'foreign.txt': 'foreign\n' })
  const other = await serve({ repositories: { 'they/foreign.git': foreign.path } })
  const sha = await addSubmodules(made, {
    library: { url: '../library.git', sha: librarySha },
    foreign: { url: other.cloneUrl('they/foreign.git'), sha: foreignSha },
  })
  const access = {
    cloneUrl: server.cloneUrl('acme/widgets.git'),
    authorization: { scheme: 'bearer' as const, token },
  }
  return { repository: made, server, sha, access, other, library }
}

describe('submodules', () => {
  test('are checked out to any depth, and their host alone gets the credential', async () => {
    const given = await withSubmodules()
    const image = await runSteps(await templateOf(given, { submodules: true }), { ...both(given), recordGit: true })
    const checkout = join(image.home, 'widgets')
    expect(await readFile(join(checkout, 'library/library.txt'), 'utf8')).toBe('library\n')
    expect(await readFile(join(checkout, 'library/deeper/nested.txt'), 'utf8')).toBe('nested\n')
    expect(await readFile(join(checkout, 'foreign/foreign.txt'), 'utf8')).toBe('foreign\n')
    expect(await git(checkout, 'status', '--porcelain')).toBe('')
    expect(given.other.requests.length).toBeGreaterThan(0)
    expect(given.other.requests.filter(({ authorization }) => authorization !== undefined)).toEqual([])
    expect(given.server.requests.filter(({ authorization }) => authorization === undefined)).toEqual([])
    expect(await filesWithNeedles(image.home)).toEqual([])
    expect(image.gitCalls).toContain('submodule')
    expect(needles.filter((needle) => image.gitCalls.includes(needle) || image.log.includes(needle))).toEqual([])
  })

  test('stay empty where they are not asked for', async () => {
    const given = await withSubmodules()
    const image = await runSteps(await templateOf(given, {}), both(given))
    expect(await readdir(join(image.home, 'widgets/library'))).toEqual([])
    expect(given.other.requests).toEqual([])
  })

  test('on a host that wants a credential of its own fail the clone, and the host gets none', async () => {
    const given = await withSubmodules()
    given.other.setToken('theirs')
    await expect(runSteps(await templateOf(given, { submodules: true }), both(given))).rejects.toThrow(StepFailure)
    expect(given.other.requests.length).toBeGreaterThan(0)
    expect(given.other.requests.filter(({ authorization }) => authorization !== undefined)).toEqual([])
  })

  test('named by http are asked by https', async () => {
    const given = await widgets()
    const url = given.access.cloneUrl.replace('https:', 'http:')
    await addSubmodules(given.repository, { same: { url, sha: given.sha } })
    const image = await runSteps(await templateOf(given, { submodules: true }), given.server)
    expect(await readFile(join(image.home, 'widgets/same/README.md'), 'utf8')).toBe('widgets\n')
    expect(given.server.requests.filter(({ authorization }) => authorization === undefined)).toEqual([])
  })

  test.each(['ext::sh -c touch% CANARY', 'file:///etc', '/etc', 'ssh://git@localhost/x', '--upload-pack=touch CANARY'])(
    'of the form %s fail the clone and run nothing',
    async (form) => {
      const given = await widgets()
      const directory = await temporaryDirectory()
      const url = form.replace('CANARY', join(directory, 'canary'))
      await addSubmodules(given.repository, { part: { url, sha: given.sha } })
      const failure = await runSteps(await templateOf(given, { submodules: true }), given.server).catch(
        (error: unknown) => error,
      )
      expect(failure).toBeInstanceOf(StepFailure)
      expect(failure).toMatchObject({ log: expect.stringContaining('warmbox: clone failed') })
      expect(await readdir(directory)).toEqual([])
    },
  )
})

/**
 * Stands in for git-lfs. Asks git itself, as git-lfs does, which header is configured for the endpoint, and asks the
 * endpoint with it. It notes arguments and environment of every call.
 */
const lfsStandIn = (directory: string): string => `#!/bin/bash
printf '%s ' "$@" >> '${directory}/lfs-calls'; echo >> '${directory}/lfs-calls'
env >> '${directory}/lfs-environment'
case "$1" in
  version) echo 'git-lfs/3.0.0' ;;
  install) git config --local filter.lfs.clean cat; git config --local filter.lfs.smudge cat ;;
  pull|fetch)
    url="$(git config --file .lfsconfig lfs.url || git remote get-url origin | sed 's,$,/info/lfs,')"
    header="$(git config --get-urlmatch http.extraheader "$url" || true)"
    curl --silent --cacert "$GIT_SSL_CAINFO" --config - <<EOF
url = "$url/objects/batch"
$([ -z "$header" ] || printf 'header = "%s"' "$header")
EOF
    ;;
  ls-files) [ -n "\${LFS_MISSING-}" ] && echo '0123456789 - big.bin' || echo '0123456789 * big.bin' ;;
esac
`

const lfsIn = async () => {
  const directory = await temporaryDirectory()
  return { directory, programs: { 'git-lfs': lfsStandIn(directory) } }
}

describe('LFS files', () => {
  test('are asked for at the clone’s own host with the credential, in no argument and no file', async () => {
    const given = await widgets()
    const { directory, programs } = await lfsIn()
    const image = await runSteps(await templateOf(given, { lfs: true }), { ...given.server, programs })
    const batch = given.server.requests.filter(({ url }) => url.endsWith('/info/lfs/objects/batch'))
    expect(batch).toHaveLength(1)
    expect(batch[0]?.authorization).toBe(`Basic ${Buffer.from(`x-access-token:${token}`).toString('base64')}`)
    const calls = await readFile(join(directory, 'lfs-calls'), 'utf8')
    expect(calls).toContain('install --local --skip-repo')
    expect(needles.filter((needle) => calls.includes(needle) || image.log.includes(needle))).toEqual([])
    expect(await filesWithNeedles(image.home)).toEqual([])
    const seen = await readFile(join(directory, 'lfs-environment'), 'utf8')
    expect(seen).toContain('GIT_TERMINAL_PROMPT=0')
    expect(seen).toContain('GIT_ALLOW_PROTOCOL=https')
  })

  test('on another host are asked for without it', async () => {
    const given = await widgets()
    const other = await serve({ repositories: {} })
    await given.repository.commit({ '.lfsconfig': `[lfs]\n\turl = ${other.url}/lfs\n` })
    const { programs } = await lfsIn()
    const certificateAuthority = `${given.server.certificateAuthority}\n${other.certificateAuthority}`
    await runSteps(await templateOf(given, { lfs: true }), { certificateAuthority, programs })
    expect(other.requests.map(({ url, authorization }) => [url, authorization])).toEqual([
      ['/lfs/objects/batch', undefined],
    ])
  })

  test('that are missing afterwards fail the step', async () => {
    const given = await widgets()
    const { programs } = await lfsIn()
    const template = await templateOf(given, { lfs: true })
    await expect(
      runSteps(template, { ...given.server, programs, environment: { LFS_MISSING: '1' } }),
    ).rejects.toMatchObject({ log: expect.stringContaining('an LFS file was not fetched') })
  })

  test('fail the build where git-lfs is missing and cannot be installed', async () => {
    const given = await widgets()
    const missing = `#!/bin/sh\nexit 1\n`
    const template = await templateOf(given, { lfs: true })
    await expect(runSteps(template, { ...given.server, programs: { 'git-lfs': missing } })).rejects.toMatchObject({
      log: expect.stringMatching(/nothing is installed on this machine\nwarmbox: git-lfs failed with exit code 100/),
    })
  })

  test('need git-lfs, which is installed before the credential is there', async () => {
    const given = await widgets()
    const steps = await ownSteps(await templateOf(given, { lfs: true }))
    const install = steps.findIndex(
      ({ args }) => args[0]?.includes('install -y --no-install-recommends git-lfs') === true,
    )
    const credential = steps.findIndex(({ args }) => args.includes('WARMBOX_GIT_CREDENTIAL'))
    expect(install).toBe(1)
    expect(steps[install]?.args[1]).toBe('root')
    expect(credential).toBeGreaterThan(install)
  })
})

test('a clone that goes on for ever ends in its time, with the step’s name', async () => {
  let dripped = 0
  const server = await serve({
    repositories: {},
    intercept: (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' })
      response.write('001e# service=git-upload-pack\n0000fff0')
      const drip = setInterval(() => {
        dripped += 1
        response.write('x')
      }, 100)
      response.once('close', () => clearInterval(drip))
      return true
    },
  })
  const access = { cloneUrl: server.cloneUrl('acme/widgets.git') }
  const spec = await createRepoTemplate({
    getRepositoryAccess: () => Promise.resolve(access),
    sha: 'a'.repeat(40),
    cloneTimeoutMs: 4000,
  })?.resolveSpec()
  if (spec === undefined) throw new Error('no spec')
  await expect(runSteps(spec.template, server)).rejects.toMatchObject({
    log: expect.stringMatching(
      /warmbox: git fetch was ended after 4 seconds\n[^]*warmbox: clone failed with exit code/,
    ),
  })
  expect(dripped).toBeGreaterThan(0)
})
