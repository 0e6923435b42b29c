import { execFile } from 'node:child_process'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createEmulator, probeNamespaces } from '@warmbox/e2b-emulator'
import { refreshRepoTemplate, type RepoTemplateOptions } from '@warmbox/repo-template'
import { temporaryDirectory, type Widgets, widgets } from './support/fixtures.ts'
import { listing } from './support/listing.ts'
import { addSubmodules } from './support/submodules.ts'

/** Set where minutes count more than the last test; `pnpm test` alone runs all. */
const isShort = process.env['WARMBOX_SHORT_TESTS'] === '1'

/** Incremental builds on real processes, with real git, held against builds of the same commit from nothing. */
const execute = promisify(execFile)
const namespaces = await probeNamespaces()
const reason = namespaces.available ? '' : ` (skipped: ${namespaces.reason})`

/** What ties an image to the moment of its build. */
const moments = /(?:^|\/)\.git(?:\/|$)|^\.warmbox\/template\.json$/

const world = async (given: Widgets, options: Partial<RepoTemplateOptions>) => {
  const emulator = createEmulator({ runtime: 'real', certificateAuthorities: [given.server.certificateAuthority] })
  onTestFinished(() => emulator.close())
  const { connection } = await emulator.listen()
  const refresh = (force: boolean) =>
    refreshRepoTemplate(
      {
        getRepositoryAccess: () => Promise.resolve(given.access),
        certificateAuthority: given.server.certificateAuthority,
        headTimeoutMs: 60_000,
        ...options,
      },
      { ...connection, force },
    )
  const imageOf = async (ref: string) => {
    const image = await emulator.control.filesystemOf(ref)
    onTestFinished(() => image.release())
    const checkout = join(image.directory, 'home/user/widgets')
    const ask = async (...args: string[]) =>
      (await execute('git', ['-c', 'safe.directory=*', '-C', checkout, ...args])).stdout.trim()
    const { clonedAt, builtAt, ...record }: Record<string, string> = JSON.parse(
      await readFile(join(image.directory, 'home/user/.warmbox/template.json'), 'utf8'),
    )
    return {
      record,
      times: [clonedAt, builtAt],
      checkout,
      ask,
      files: await listing(join(image.directory, 'home/user'), moments),
      git: await Promise.all([
        ask('rev-parse', 'HEAD'),
        ask('status', '--porcelain'),
        ask('remote', '--verbose'),
        ask('for-each-ref'),
        ask('config', '--local', '--list'),
        ask('rev-list', '--count', 'HEAD'),
        ask('rev-list', '--objects', '--all', 'HEAD'),
        ask('cat-file', '--batch-all-objects', '--batch-check'),
        ask('ls-files', '--stage', '-v'),
        ask('submodule', 'status'),
        readFile(join(checkout, '.git/shallow'), 'utf8'),
        ask('fsck', '--full'),
        readdir(join(checkout, '.git'), { recursive: true }).then((names) =>
          names
            .filter((name) => !/^(?:FETCH_HEAD|index)$|^objects\//.test(name))
            .toSorted()
            .join(' '),
        ),
      ]),
    }
  }
  return { refresh, imageOf }
}

/** As real ones: what it writes depends on the commit, on what lies there already, and it meddles with git. */
const setup = [
  'mkdir -p deps; if [ -e deps/lock ] && cmp -s pnpm-lock.yaml deps/lock; then touch deps/kept; else cp pnpm-lock.yaml deps/lock; fi; rm -f deps/kept',
  'printf "generated\\n" >> README.md',
  'printf "%s\\n" "$BUILD_SECRET" | sha256sum > deps/seen',
  'git config core.hooksPath hooks; git config filter.steal.smudge "touch /home/user/stolen; cat"; git tag -f marked; git branch -f topic',
  'if [ -e make-litter ]; then touch litter ignored-at-first hidden; echo hidden >> .gitignore; mkdir -p nested; git init -q nested; touch nested/file; fi',
]

const first = {
  '.gitignore': 'deps/\nignored-at-first\n',
  '.gitattributes': 'later filter=steal\n',
  'pnpm-lock.yaml': 'lockfileVersion: 9\n',
  'make-litter': '\n',
  gone: 'gone\n',
  'once-tracked': 'gone too\n',
  'directory/gone': 'gone\n',
  'becomes-a-directory': 'file\n',
  'becomes/a/file': 'directory\n',
  same: 'same\n',
}

describe.skipIf(!namespaces.available || isShort)(`an incremental build on real processes${reason}`, () => {
  test.each(['clone', 'upload'] as const)(
    'ends in the image that a build from nothing ends in: %s',
    { timeout: 300_000 },
    async (source) => {
      const given = await widgets()
      const work = await temporaryDirectory()
      const git = (...args: string[]) =>
        execute('git', ['-c', 'user.name=W', '-c', 'user.email=w@localhost', '-C', work, ...args])
      await given.repository.commit(first)
      const { refresh, imageOf } = await world(given, {
        source,
        setupCommand: setup,
        buildEnv: { BUILD_SECRET: 'build-secret' },
        submodules: true,
      })
      const parent = await refresh(false)
      expect(parent).toMatchObject({ action: 'built', build: 'clean' })
      const before = await imageOf(parent.ref)
      expect(before.files.some((line) => line.startsWith('widgets/litter '))).toBe(true)

      await execute('git', ['clone', '--quiet', given.repository.path, work])
      await git(
        'rm',
        '--quiet',
        '-r',
        'make-litter',
        'gone',
        'once-tracked',
        'directory',
        'becomes-a-directory',
        'becomes',
      )
      await git('commit', '--quiet', '--message', 'Remove files')
      await git('push', '--quiet', 'origin', 'HEAD:main')
      await given.repository.commit({
        '.gitignore': 'deps/\nlitter\nhidden\nonce-tracked\n',
        'pnpm-lock.yaml': 'lockfileVersion: 10\n',
        'becomes-a-directory/file': 'now\n',
        'becomes/a': 'now\n',
        later: 'later\n',
        'README.md': 'changed\n',
      })
      const sha = await addSubmodules(given.repository, { 'parts/same': { url: '../widgets.git', sha: given.sha } })

      const incremental = await refresh(false)
      expect(incremental).toMatchObject({ action: 'built', build: 'incremental', sha })
      expect(incremental.parent).toMatch(/^mastra-repo-[0-9a-f]+:[0-9a-f-]{36}$/)
      const grown = await imageOf(incremental.ref)
      const clean = await refresh(true)
      expect(clean).toMatchObject({ action: 'built', build: 'clean', ref: incremental.ref })
      const fresh = await imageOf(clean.ref)
      expect(grown.files).toEqual(fresh.files)
      expect(grown.git).toEqual(fresh.git)
      expect(grown.record).toEqual(fresh.record)
      const changedAt = async ({ checkout }: typeof before) => (await stat(join(checkout, 'same'))).mtimeMs
      expect(await changedAt(grown)).toBe(await changedAt(before))
      expect(grown.record['lockfiles']).not.toBe(before.record['lockfiles'])
      expect(grown.times.every((time) => /^\d{4}-/.test(time ?? ''))).toBe(true)
      expect(grown.files.some((line) => line.startsWith('stolen'))).toBe(false)
      // Setup changes README.md in both; nothing else differs from the commit.
      expect(grown.git[1]).toBe('M README.md')
      expect(grown.files.some((line) => line.startsWith('widgets/parts/same/README.md '))).toBe(true)
    },
  )

  test(
    'of a repository whose setup leaves tracked files alone is clean, and keeps what git ignores',
    { timeout: 300_000 },
    async () => {
      const given = await widgets()
      await given.repository.commit({ '.gitignore': 'deps/\n' })
      const { refresh, imageOf } = await world(given, {
        setupCommand: 'mkdir -p deps; [ -e deps/id ] || cat /proc/sys/kernel/random/uuid > deps/id',
      })
      const parent = await imageOf((await refresh(false)).ref)
      const sha = await given.repository.commit({ 'README.md': 'moved\n' })
      const child = await imageOf((await refresh(false)).ref)
      expect(child.git.slice(0, 2)).toEqual([sha, ''])
      const idOf = ({ checkout }: typeof parent) => readFile(join(checkout, 'deps/id'), 'utf8')
      expect(await idOf(child)).toBe(await idOf(parent))
      // The same lockfiles, so the same baked hash: a sync from one to the other runs no setup.
      expect(child.record['lockfiles']).toBe(parent.record['lockfiles'])
      expect(child.record['sha']).toBe(sha)
    },
  )

  test('of SHA-256 ids', { timeout: 300_000 }, async () => {
    const given = await widgets({}, { objectFormat: 'sha256' })
    const { refresh, imageOf } = await world(given, {})
    await refresh(false)
    const sha = await given.repository.commit({ 'README.md': 'moved\n' })
    const made = await refresh(false)
    expect(made).toMatchObject({ build: 'incremental', sha })
    expect((await imageOf(made.ref)).git.slice(0, 2)).toEqual([sha, ''])
  })
})
