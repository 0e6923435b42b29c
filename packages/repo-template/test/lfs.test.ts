import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createEmulator, createScriptedRuntime, probeNamespaces } from '@warmbox/e2b-emulator'
import { type GitServer, lfsPointer } from '@warmbox/git-server'
import {
  createRepoTemplate,
  refreshRepoTemplate,
  type RepoTemplateOptions,
  syncRepository,
} from '@warmbox/repo-template'
import {
  needles,
  repository,
  serve,
  setEnvironment,
  temporaryDirectory,
  token,
  type Widgets,
} from './support/fixtures.ts'
import { localSandbox } from './support/local-sandbox.ts'
import { filesWithNeedles } from './support/files-with-needles.ts'
import { recordRequests } from './support/recording-server.ts'
import { runSteps, StepFailure } from './support/run-steps.ts'

/** Set where minutes count more than the last test; `pnpm test` alone runs all. */
const isShort = process.env['WARMBOX_SHORT_TESTS'] === '1'

const execute = promisify(execFile)

const lfsHere = await execute('git', ['lfs', 'version']).then(
  () => true,
  () => false,
)
const reason = lfsHere ? '' : ' (skipped: git-lfs is not installed)'
const namespaces = await probeNamespaces()
const machinesReason = namespaces.available ? '' : ` (skipped: ${namespaces.reason})`

const content = 'as large as it needs to be\n'
const later = 'made after the sandbox was booted\n'

interface Scene extends Widgets {
  /** Another host: with LFS files, and open to everybody. */
  readonly other: GitServer
  readonly options: RepoTemplateOptions & { readonly certificateAuthority: string }
}

/** A private repository with one LFS file; `contentAt` and `config` may lead to the other host. */
const scene = async ({
  contentElsewhere = false,
  config,
  intercept,
}: {
  readonly contentElsewhere?: boolean
  readonly config?: (other: GitServer) => string
  readonly intercept?: (other: GitServer) => Parameters<typeof serve>[0]['intercept']
} = {}): Promise<Scene> => {
  const created = await repository()
  const other = await serve({ repositories: {}, lfs: { files: [content, later] } })
  const intercepted = intercept?.(other)
  const server = await serve({
    repositories: { 'acme/widgets.git': created.path },
    token,
    lfs: { files: [content, later], ...(contentElsewhere ? { contentAt: other.url } : {}) },
    ...(intercepted === undefined ? {} : { intercept: intercepted }),
  })
  const sha = await created.commit({
    '.gitattributes': '*.bin filter=lfs diff=lfs merge=lfs -text\n',
    'package.json': '{}',
    'large.bin': lfsPointer(content),
    ...(config === undefined ? {} : { '.lfsconfig': config(other) }),
  })
  const access = {
    cloneUrl: server.cloneUrl('acme/widgets.git'),
    authorization: { scheme: 'bearer' as const, token },
  }
  return {
    repository: created,
    server,
    sha,
    access,
    other,
    options: {
      getRepositoryAccess: () => Promise.resolve(access),
      certificateAuthority: `${server.certificateAuthority}\n${other.certificateAuthority}`,
      headTimeoutMs: 60_000,
      lfs: true,
    },
  }
}

const templateOf = async ({ options }: Scene) => {
  const spec = await createRepoTemplate(options)?.resolveSpec()
  if (spec === undefined) throw new Error('no spec')
  return spec.template
}

const secondHost = 'a second host, for the contents'
/** Where an LFS file comes from: name of the arrangement to what makes it. */
const arrangements = {
  'the clone’s own host': {},
  [secondHost]: { contentElsewhere: true },
  'a second host, as .lfsconfig says': { config: ({ url }: GitServer) => `[lfs]\n\turl = ${url}/their/lfs\n` },
  'where the clone’s own host redirects to': {
    intercept:
      (other: GitServer): Parameters<typeof serve>[0]['intercept'] =>
      (request, response) => {
        if (request.url?.endsWith('/objects/batch') !== true) return false
        response.writeHead(307, { location: `${other.url}/their/lfs/objects/batch` }).end()
        return true
      },
  },
} satisfies Record<string, Parameters<typeof scene>[0]>

const expectNoCredentialElsewhere = ({ other }: Scene, name: string) => {
  expect(other.requests.length > 0).toBe(name !== 'the clone’s own host')
  expect(other.requests.filter(({ authorization }) => authorization !== undefined)).toEqual([])
}

const clean = async (checkout: string): Promise<string> => {
  const { stdout } = await execute('git', ['-c', 'safe.directory=*', '-C', checkout, 'status', '--porcelain'])
  return stdout
}

describe.skipIf(!lfsHere)(`with git-lfs itself${reason}`, () => {
  describe.each(Object.entries(arrangements))('an LFS file of %s', (name, arrangement) => {
    test('is cloned by a build', async () => {
      const given = await scene(arrangement)
      const image = await runSteps(await templateOf(given), {
        certificateAuthority: given.options.certificateAuthority,
        recordGit: true,
      })
      expect(await readFile(join(image.home, 'widgets/large.bin'), 'utf8')).toBe(content)
      expect(await clean(join(image.home, 'widgets'))).toBe('')
      expectNoCredentialElsewhere(given, name)
      expect(await filesWithNeedles(image.home)).toEqual([])
      expect(image.gitCalls).toContain('lfs pull')
      expect(needles.filter((needle) => image.gitCalls.includes(needle) || image.log.includes(needle))).toEqual([])
    })

    // A sync asks for LFS files as a build does; where minutes count, one place they may come from stands for all.
    test.skipIf(isShort && name !== secondHost)('is brought along by a sync', async () => {
      const given = await scene(arrangement)
      const directory = await temporaryDirectory()
      const authority = join(directory, 'authority.pem')
      await writeFile(authority, given.options.certificateAuthority)
      const sandbox = await localSandbox({ GIT_SSL_CAINFO: authority, GIT_CONFIG_NOSYSTEM: '1' })
      const workingDirectory = join(directory, 'widgets')
      const sync = () => syncRepository(sandbox, { ...given.options, workingDirectory })
      expect(await sync()).toMatchObject({ cold: true, to: given.sha })
      expect(await readFile(join(workingDirectory, 'large.bin'), 'utf8')).toBe(content)
      await given.repository.commit({ 'second.bin': lfsPointer(later) })
      expect(await sync()).toMatchObject({ cold: false, kept: undefined })
      expect(await readFile(join(workingDirectory, 'second.bin'), 'utf8')).toBe(later)
      expect(await clean(workingDirectory)).toBe('')
      expectNoCredentialElsewhere(given, name)
      expect(await filesWithNeedles(directory)).toEqual([])
      expect(needles.filter((needle) => sandbox.commands.join('\n').includes(needle))).toEqual([])
    })

    test('is uploaded', async () => {
      const given = await scene(arrangement)
      const apiKey = 'e2b_0123abcd'
      const emulator = createEmulator({ runtime: createScriptedRuntime(), apiKey })
      onTestFinished(() => emulator.close())
      const { connection, bodies } = await recordRequests(emulator, apiKey)
      await refreshRepoTemplate({ ...given.options, source: 'upload' }, connection)
      const archives = bodies.filter((body) => body[0] === 0x1f && body[1] === 0x8b).map((body) => gunzipSync(body))
      expect(archives.map((archive) => archive.includes(content))).toEqual([true])
      expectNoCredentialElsewhere(given, name)
      const sent = [...bodies, ...archives].map((body) => body.toString('latin1')).join('\n')
      expect(needles.filter((needle) => sent.includes(needle))).toEqual([])
    })
  })

  test.skipIf(!namespaces.available)(
    `an LFS file that was uploaded is in the image${machinesReason}`,
    { timeout: 120_000 },
    async () => {
      const given = await scene(arrangements['a second host, as .lfsconfig says'])
      const emulator = createEmulator({ runtime: 'real' })
      onTestFinished(() => emulator.close())
      const { connection } = await emulator.listen()
      const { ref } = await refreshRepoTemplate({ ...given.options, source: 'upload' }, connection)
      const image = await emulator.control.filesystemOf(ref)
      onTestFinished(() => image.release())
      const checkout = join(image.directory, 'home/user/widgets')
      expect(await readFile(join(checkout, 'large.bin'), 'utf8')).toBe(content)
      expect(await clean(checkout)).toBe('')
      expect(await filesWithNeedles(join(image.directory, 'home'))).toEqual([])
    },
  )

  test('on a host that wants a credential of its own fails the clone, and the host gets none', async () => {
    const given = await scene(arrangements['a second host, as .lfsconfig says'])
    given.other.setToken('theirs')
    const { certificateAuthority } = given.options
    await expect(runSteps(await templateOf(given), { certificateAuthority })).rejects.toThrow(StepFailure)
    expectNoCredentialElsewhere(given, 'a second host')
  })

  test('on a host that never answers, an upload ends in its time and hangs up', async () => {
    let hungUp = false
    const given = await scene({
      intercept: () => (request, response) => {
        if (request.url?.endsWith('/objects/batch') !== true) return false
        response.once('close', () => {
          hungUp = true
        })
        return true
      },
    })
    const emulator = createEmulator({ runtime: createScriptedRuntime() })
    onTestFinished(() => emulator.close())
    const { connection } = await emulator.listen()
    const options: RepoTemplateOptions = { ...given.options, source: 'upload', cloneTimeoutMs: 5000 }
    await expect(refreshRepoTemplate(options, connection)).rejects.toMatchObject({
      cause: { code: 'CLONE_FAILED', message: expect.stringContaining('no answer within 5000 ms') },
    })
    await expect.poll(() => hungUp).toBe(true)
  })

  test('files that the repository excludes stay out', async () => {
    const given = await scene({ config: () => '[lfs]\n\tfetchexclude = *.bin\n' })
    const image = await runSteps(await templateOf(given), { certificateAuthority: given.options.certificateAuthority })
    expect(await readFile(join(image.home, 'widgets/large.bin'), 'utf8')).toBe(lfsPointer(content))
    expect(given.server.requests.filter(({ url }) => url.includes('/objects/'))).toEqual([])
  })

  describe.each(['file', 'path', 'ssh', 'scp'] as const)('an endpoint of the form %s', (form) => {
    /** A directory with the LFS file in it, such as another repository's on this machine. */
    const misled = async () => {
      const directory = await temporaryDirectory()
      const oid = createHash('sha256').update(content).digest('hex')
      const objects = join(directory, 'lfs/objects', oid.slice(0, 2), oid.slice(2, 4))
      await execute('git', ['init', '--quiet', '--bare', directory])
      await mkdir(objects, { recursive: true })
      await writeFile(join(objects, oid), content)
      const url = {
        file: `file://${directory}`,
        path: directory,
        ssh: 'ssh://git@localhost/widgets.git',
        scp: 'git@localhost:widgets.git',
      }[form]
      const ssh = `#!/bin/sh\ntouch '${directory}/asked'\nexit 1\n`
      const given = await scene({ config: () => `[lfs]\n\turl = ${url}\n` })
      return { given, ssh, files: () => readdir(directory) }
    }

    test('fails the clone, and nothing is asked', async () => {
      const { given, ssh, files } = await misled()
      const failure = await runSteps(await templateOf(given), {
        certificateAuthority: given.options.certificateAuthority,
        programs: { ssh },
      }).catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(StepFailure)
      expect(await files()).not.toContain('asked')
    })

    test('fails the upload, and nothing is asked', async () => {
      const { given, ssh, files } = await misled()
      const bin = await temporaryDirectory()
      await writeFile(join(bin, 'ssh'), ssh, { mode: 0o755 })
      setEnvironment({ PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}` })
      const emulator = createEmulator({ runtime: createScriptedRuntime() })
      onTestFinished(() => emulator.close())
      const { connection } = await emulator.listen()
      await expect(refreshRepoTemplate({ ...given.options, source: 'upload' }, connection)).rejects.toMatchObject({
        cause: { code: 'CLONE_FAILED' },
      })
      expect(await files()).not.toContain('asked')
    })
  })
})
