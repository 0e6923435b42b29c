import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, lstat, mkdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { NamedTemplateSpec } from '@warmbox/resolution'
import { createRepoTemplate, type RepoTemplateOptions } from '@warmbox/repo-template'
import { temporaryDirectory, type Widgets, widgets } from './support/fixtures.ts'
import { type Image, runSteps } from './support/run-steps.ts'

// The steps of an incremental build on this machine, with real git, held against a build of the same commit from nothing.

/** Set where minutes count more than the last test; `pnpm test` alone runs all. */
const isShort = process.env['WARMBOX_SHORT_TESTS'] === '1'

const execute = promisify(execFile)

/** The text of a submodule is its commit. */
type Entry = { readonly kind: 'file' | 'program' | 'link' | 'submodule'; readonly text: string }
type Tree = Readonly<Record<string, Entry>>

const file = (text: string): Entry => ({ kind: 'file', text })

const committer = async (given: Widgets) => {
  const work = await temporaryDirectory()
  const git = (...args: string[]) =>
    execute('git', ['-c', 'user.name=W', '-c', 'user.email=w@localhost', '-C', work, ...args])
  await execute('git', ['clone', '--quiet', given.repository.path, work])
  return async (tree: Tree): Promise<string> => {
    await git('rm', '--quiet', '-r', '--cached', '--force', '--ignore-unmatch', '.')
    await execute('find', [
      work,
      '-mindepth',
      '1',
      '-maxdepth',
      '1',
      '!',
      '-name',
      '.git',
      '-exec',
      'rm',
      '-rf',
      '{}',
      '+',
    ])
    const submodules: string[] = []
    for (const [name, { kind, text }] of Object.entries(tree)) {
      const path = join(work, name)
      if (kind === 'submodule') {
        submodules.push('--cacheinfo', `160000,${text},${name}`)
        continue
      }
      await mkdir(dirname(path), { recursive: true })
      if (kind === 'link') await symlink(text, path)
      else await writeFile(path, text)
      if (kind === 'program') await chmod(path, 0o755)
    }
    // The bytes as they are: what is committed is not what attributes would make of it.
    await mkdir(join(work, '.git/info'), { recursive: true })
    await writeFile(join(work, '.git/info/attributes'), '* -text -ident -filter !working-tree-encoding\n')
    await git('add', '--all', '--force', '.')
    if (submodules.length > 0) await git('update-index', '--add', ...submodules)
    await git('commit', '--quiet', '--allow-empty', '--message', 'Change')
    await git('push', '--quiet', '--force', 'origin', 'HEAD:main')
    return (await git('rev-parse', 'HEAD')).stdout.trim()
  }
}

const specAt = async (given: Widgets, options: Partial<RepoTemplateOptions>): Promise<NamedTemplateSpec> => {
  const spec = await createRepoTemplate({
    getRepositoryAccess: () => Promise.resolve(given.access),
    certificateAuthority: given.server.certificateAuthority,
    headTimeoutMs: 60_000,
    ...options,
  })?.resolveSpec({})
  if (spec === undefined) throw new Error('There is no spec')
  return spec
}

/** What a `umask` in `~/.profile` comes to, which a setup command may have left there. */
const withUmask = (umask: string) => ({ rewrite: (script: string) => `umask ${umask}\n${script}` })

const buildClean = async (given: Widgets, options: Partial<RepoTemplateOptions>): Promise<Image> =>
  runSteps((await specAt(given, options)).template, { ...given.server, ...withUmask('027') })

const buildOn = async (parent: Image, given: Widgets, options: Partial<RepoTemplateOptions>): Promise<Image> => {
  const createdAt = new Date()
  const tags = ['current', 'clean'].map((tag) => ({ tag, buildId: 'earlier', createdAt }))
  const { incremental } = await specAt(given, options)
  const build = incremental?.from(tags)
  if (build === undefined) throw new Error('Nothing is built on the earlier build')
  return runSteps(build.template, { ...given.server, ...withUmask('002'), parent: parent.home })
}

/** What git tracks, as it lies there, with the directories it lies in, and what git says of it. */
const lookAt = async ({ home }: Image) => {
  const directory = join(home, 'widgets')
  const git = async (...args: string[]) => (await execute('git', ['-C', directory, ...args])).stdout
  const listed = `${await git('ls-files', '-z')}${await git('ls-tree', '-r', '-d', '-z', '--name-only', 'HEAD')}`
  const names = ['.', ...listed.split('\0').filter((name) => name !== '')]
  const files = names.map(async (name) => {
    const path = join(directory, name)
    const { mode } = await lstat(path)
    const isLink = (mode & 0o170000) === 0o120000
    const isDirectory = (mode & 0o170000) === 0o040000
    const content = isLink ? await readlink(path) : isDirectory ? '' : await readFile(path)
    return `${name} ${mode.toString(8)} ${createHash('sha256').update(content).digest('hex')}`
  })
  return {
    files: await Promise.all(files),
    status: await git('status', '--porcelain', '--untracked-files=all'),
    // Ignored or not, git and git-lfs obey them.
    rules: await git('ls-files', '--others', '--', '.gitmodules', '.lfsconfig'),
    pipes: (await execute('find', [directory, '-type', 'p'])).stdout,
    index: await git('ls-files', '--stage', '-v'),
    head: await git('rev-parse', 'HEAD'),
    config: await git('config', '--local', '--list'),
  }
}

interface History {
  readonly before: Tree
  readonly after: Tree
  readonly setupCommand?: string
}

const attributes = (...lines: string[]): Tree => ({ '.gitattributes': file(lines.map((line) => `${line}\n`).join('')) })
const texts: Tree = Object.fromEntries(
  ['ends.txt', 'no-ends', 'id.txt', 'encoded', 'd/f', 'odd\nname', 'q"\\\t ü', '-x'].map((name) => [
    name,
    file('one\ntwo $Id$\n'),
  ]),
)
const nested: Tree = Object.fromEntries(
  ['x/a', 'src/a', 'a/b/c', '-d/f', 'odd\nq"\\\t ü/f', 's/t'].map((name) => [name, file('x $Id$\r\n')]),
)
/** Of the earlier build alone. */
const once = (...commands: string[]): string => ['if ! [ -e z ]; then', ...commands, 'fi'].join('\n')

const histories: readonly (readonly [string, History])[] = [
  [
    'attributes that changed',
    {
      before: { ...texts, ...attributes('no-ends eol=crlf') },
      after: {
        ...texts,
        ...attributes('*.txt text eol=crlf', 'id.txt ident', 'encoded working-tree-encoding=UTF-16LE', 'odd* ident'),
        'd/.gitattributes': file('* eol=crlf\n'),
      },
    },
  ],
  [
    'marks, settings and attributes that setup left',
    {
      before: texts,
      after: { ...texts, encoded: file('new\n'), z: file('1') },
      setupCommand: once(
        'git sparse-checkout set --no-cone "/*" "!/id.txt"',
        'for f in no-ends encoded; do echo local >> $f; done',
        'git update-index --assume-unchanged no-ends',
        'git update-index --skip-worktree encoded',
        'mkdir -p ~/.config/git .git/info',
        'echo "*.txt eol=crlf" | tee .git/info/attributes > ~/.config/git/attributes',
        'rm ends.txt; git checkout ends.txt; chmod 600 ends.txt',
        'for name in autocrlf ignoreStat; do git config core.$name true; done; git config core.fileMode false; chmod +x d/f',
      ),
    },
  ],
  [
    'a commit of its own',
    {
      before: texts,
      after: { ...texts, z: file('1') },
      setupCommand: once(
        'echo local >> d/f; git checkout -q -b mine; git -c user.name=W -c user.email=w@localhost commit -qam mine',
      ),
    },
  ],
  [
    'rules, repositories and modes of directories that setup left',
    {
      before: { ...nested, '.gitignore': file('.*\nlib/\nsub/\n') },
      after: {
        ...nested,
        '.gitignore': file('.*\n!.gitignore\n'),
        's/n': file('a\nb\r\n'),
        'lib/f': file('1\n'),
        'lib/p/f': file('1\n'),
        sub: { kind: 'submodule', text: '1'.repeat(40) },
        z: file('1'),
      },
      setupCommand: once(
        'mkdir -p u/y lib/.empty',
        'echo junk | tee x/.gitignore u/y/.gitignore > lib/.gitignore; echo y/.gitignore > u/.gitignore',
        'for d in x u/y lib; do echo j > $d/junk; done',
        'echo "* text" > .gitattributes; touch .gitmodules .lfsconfig',
        'for d in */; do echo "* text eol=crlf ident" > "./$d.gitattributes"; done',
        'for d in lib sub src -d odd*; do git init -q -- "$d"; done; echo j > sub/junk',
        'echo "gitdir: /nowhere" > a/b/.git; ln -s /nowhere x/.git',
        'rm lib/.gitattributes; mkdir v lib/p; mkfifo pipe x/pipe v/.gitignore lib/.gitattributes lib/p/.gitattributes',
        'chmod 700 src ./-d odd*; chmod -R g+w a; chmod 1777 x; chmod -R a-w s; chmod 2700 .; chmod 2770 lib',
      ),
    },
  ],
]

test.each(histories)('%s: tracked files are those of a clean clone', { timeout: 120_000 }, async (_name, history) => {
  const given = await widgets()
  const commit = await committer(given)
  const options = history.setupCommand === undefined ? {} : { setupCommand: history.setupCommand }
  await commit(history.before)
  const parent = await buildClean(given, options)
  const sha = await commit(history.after)
  const grown = await lookAt(await buildOn(parent, given, options))
  expect(grown).toEqual(await lookAt(await buildClean(given, options)))
  expect(grown).toMatchObject({ status: '', head: `${sha}\n` })
})

const timeOf = async ({ home }: Image) => (await stat(join(home, 'widgets/same'))).mtimeMs

const linking = [
  'if [ -e ../kept ]; then exit; fi',
  'mkdir -p ../kept/e; touch ../kept/.gitignore ../kept/e/.gitattributes; git init -q ../kept/e; chmod 700 ../kept/e',
  'rm -r d; ln -s ../kept d',
].join('\n')

test(
  'what stays the same keeps its time, and nothing is left behind or changed elsewhere',
  { timeout: 120_000 },
  async () => {
    const given = await widgets()
    const commit = await committer(given)
    const both = { same: file('same\n'), 'd/e/f': file('1\n') }
    const options = { setupCommand: linking }
    await commit({ ...both, 'a.txt': file('old\n'), ...attributes('* text=auto') })
    const parent = await buildClean(given, options)
    const before = await timeOf(parent)
    await commit({ ...both, 'a.txt': file('new\n'), ...attributes('*.txt eol=crlf') })
    const child = await buildOn(parent, given, options)
    expect(await timeOf(child)).toBe(before)
    const kept = await execute('find', [join(child.home, 'kept'), '-maxdepth', '2', '-printf', '%P %m\n'])
    expect(kept.stdout.split('\n').toSorted().join(', ')).toMatch(
      /^, .* 7.., .gitignore 6.., e 700, e\/.git 7.., e\/.gitattributes 6..$/,
    )
    const { stdout } = await execute('ls', ['-A', join(child.home, '.warmbox')])
    expect(stdout).toBe('template.json\n')
  },
)

const names = ['f', 'F', 'd/f', 'd/g.txt', 'g.txt', 'd'] as const
const entry: fc.Arbitrary<Entry> = fc.record({
  kind: fc.constantFrom('file', 'program', 'link'),
  text: fc.constantFrom('1\n', '$Id$\n2\r\n', 'd/f', 'f'),
})
/** Without names that are a file and a directory at once. */
const tree: fc.Arbitrary<Tree> = fc
  .tuple(
    fc.dictionary(fc.constantFrom(...names), entry, { minKeys: 1 }),
    fc.constantFrom(undefined, '* text=auto eol=crlf\n', '*.txt ident\n', 'f -text\n* eol=crlf\n'),
  )
  .map(([entries, lines]) => ({
    ...Object.fromEntries(Object.entries(entries).filter(([name]) => !(name.startsWith('d/') && 'd' in entries))),
    ...(lines === undefined ? {} : { '.gitattributes': file(lines) }),
  }))
const meddling = fc.constantFrom(
  'true',
  'git ls-files | xargs -r git update-index --assume-unchanged; for f in $(git ls-files); do [ -L $f ] || echo x >> $f; done',
  'rm -rf d f; mkdir -p f/g; git config core.autocrlf input',
  'rm -rf d; ln -s /tmp d',
)

test.skipIf(isShort)('any commit on any other, whatever setup did in between', { timeout: 300_000 }, async () => {
  const given = await widgets()
  const commit = await committer(given)
  await fc.assert(
    fc.asyncProperty(tree, tree, meddling, async (before, after, meddle) => {
      // Only setup of the earlier build meddles: what it does again is the same in both.
      const options = { setupCommand: `[ -e ../met ] || { touch ../met; ${meddle}; }` }
      await commit(before)
      const parent = await buildClean(given, options)
      await commit(after)
      const grown = await lookAt(await buildOn(parent, given, options))
      const fresh = await lookAt(await buildClean(given, { setupCommand: 'true' }))
      expect(grown).toEqual(fresh)
      await rm(parent.home, { recursive: true, force: true })
    }),
    { numRuns: 4 },
  )
})
