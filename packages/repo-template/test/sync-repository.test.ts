import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import * as fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { syncRepository, type SyncableSandbox } from '@warmbox/repo-template'
import { needles, temporaryDirectory } from './support/fixtures.ts'
import { git, syncScene, type SyncScene } from './support/sync-scene.ts'

/** Set where minutes count more than the last test; `pnpm test` alone runs all. */
const isShort = process.env['WARMBOX_SHORT_TESTS'] === '1'

const execute = promisify(execFile)

const setupRuns = async (path: string): Promise<number> =>
  (await readFile(join(path, '..', 'setup.log'), 'utf8')).trim().split('\n').length

/** Two commits: one with a directory `packages`, and one where that is a file, `added.txt` one too, `new` a directory. */
const commitKinds = `
  commit() { git -c user.name=Someone -c user.email=someone@localhost commit-tree "$(git mktree)" -m Kinds; }
  blob=$(echo theirs | git hash-object -w --stdin)
  tree=$(printf '100644 blob %s\\tfile\\n' "$blob" | git mktree)
  git update-ref refs/heads/base "$(printf '040000 tree %s\\tpackages\\n' "$tree" | commit)"
  kinds=$(printf '100644 blob %s\\tadded.txt\\n040000 tree %s\\tnew\\n100644 blob %s\\tpackages\\n' "$blob" "$tree" "$blob" | commit)
  git update-ref refs/heads/kinds "$kinds"`

const never = () => new Promise<never>(() => undefined)

/** What a run that is aborted while it waits rejects with. */
const closing = (run: (signal: AbortSignal) => Promise<unknown>): Promise<unknown> => {
  const controller = new AbortController()
  const running = run(controller.signal)
  controller.abort(new Error('closing'))
  return running.catch((error: unknown) => error)
}

const execCommand = async (
  sandbox: SyncableSandbox,
  ...[command, args, options]: Parameters<NonNullable<SyncableSandbox['executeCommand']>>
) => {
  const result = await sandbox.executeCommand?.(command, args, options)
  return result ?? { exitCode: 1, stdout: '', stderr: '', success: false }
}

let at: SyncScene
beforeEach(async () => {
  at = await syncScene()
})

describe('a cold sandbox', () => {
  test('gets a clone at the head, and setup', async () => {
    expect(await at.sync()).toEqual({
      from: undefined,
      to: at.sha,
      head: at.sha,
      drift: false,
      reran: true,
      cold: true,
      path: at.path,
      kept: undefined,
      setAside: undefined,
      changed: [],
    })
    expect(await git(at.path, 'rev-parse', 'HEAD')).toBe(at.sha)
    expect(await git(at.path, 'status', '--porcelain')).toBe('')
    expect(await setupRuns(at.path)).toBe(1)
  })

  test('gets it over an interrupted clone, whose files are set aside', async () => {
    await mkdir(join(at.path, '.git', 'objects'), { recursive: true })
    await writeFile(join(at.path, '.git', 'HEAD'), 'ref: refs/heads/main\n')
    await writeFile(join(at.path, 'notes.txt'), 'mine')
    const { setAside, ...result } = await at.sync()
    expect(result).toMatchObject({ cold: true, to: at.sha })
    expect(await readFile(join(setAside ?? '', 'notes.txt'), 'utf8')).toBe('mine')
  })

  test('is cloned once by two syncs, of one sandbox or of two that share a machine, and nothing else stays', async () => {
    const other: SyncableSandbox = {
      executeCommand: (command, args, options) => execCommand(at.sandbox, command, args, options),
    }
    const syncOther = () =>
      syncRepository(other, {
        getRepositoryAccess: () => Promise.resolve(at.access),
        certificateAuthority: at.server.certificateAuthority,
        workingDirectory: at.path,
      })
    const results = await Promise.all([at.sync({ setupCommand: [] }), at.sync({ setupCommand: [] }), syncOther()])
    expect(results.map(({ to }) => to)).toEqual([at.sha, at.sha, at.sha])
    expect(results.filter(({ cold }) => cold)).toHaveLength(1)
    expect(await readdir(join(at.path, '..'))).toEqual(['authority.pem', 'widgets'])
  })

  test('keeps nothing of a clone that failed, and the next try succeeds', async () => {
    at.server.setToken('another')
    await expect(at.sync({ sha: at.sha })).rejects.toMatchObject({ code: 'SYNC_FAILED' })
    expect(await readdir(join(at.path, '..'))).toEqual(['authority.pem'])
    at.server.setToken(at.access.authorization?.token ?? '')
    expect(await at.sync()).toMatchObject({ cold: true, to: at.sha })
  })
})

describe('a warm sandbox', () => {
  beforeEach(async () => {
    await at.sync()
  })

  test('at the head is left alone', async () => {
    const before = at.server.requests.length
    expect(await at.sync()).toMatchObject({ from: at.sha, to: at.sha, drift: false, reran: false, cold: false })
    expect(await setupRuns(at.path)).toBe(1)
    // The head lookup, and no fetch.
    expect(at.server.requests.length - before).toBe(1)
  })

  test('moves to a new head, without setup where the lockfile is the same', async () => {
    const head = await at.repository.commit({ 'README.md': 'new\n' })
    expect(await at.sync()).toMatchObject({ from: at.sha, to: head, drift: false, reran: false, cold: false })
    expect(await git(at.path, 'rev-parse', 'HEAD')).toBe(head)
    expect(await readFile(join(at.path, 'README.md'), 'utf8')).toBe('new\n')
    expect(await setupRuns(at.path)).toBe(1)
  })

  test('runs setup again where the lockfile changed', async () => {
    const head = await at.repository.commit({ 'pnpm-lock.yaml': 'lockfileVersion: 10\n' })
    expect(await at.sync()).toMatchObject({ to: head, drift: true, reran: true })
    expect(await setupRuns(at.path)).toBe(2)
    expect(await at.sync()).toMatchObject({ drift: false, reran: false })
  })

  test('runs a setup that failed again, although the checkout is there and the head moved on', async () => {
    await at.repository.commit({ 'pnpm-lock.yaml': 'lockfileVersion: 10\n' })
    await expect(at.sync({ setupCommand: 'exit 3' })).rejects.toMatchObject({
      code: 'SETUP_FAILED',
      message: 'setup 1 of 1 failed with exit code 3',
    })
    const head = await at.repository.commit({ 'README.md': 'further\n' })
    expect(await at.sync()).toMatchObject({ to: head, drift: true, reran: true })
    expect(await setupRuns(at.path)).toBe(2)
  })

  test('goes back to an older commit when asked to', async () => {
    await at.repository.commit({ 'README.md': 'new\n' })
    await at.sync()
    expect(await at.sync({ sha: at.sha })).toMatchObject({ to: at.sha, kept: undefined })
    expect(await readFile(join(at.path, 'README.md'), 'utf8')).toBe('widgets\n')
  })

  test('undoes what setup changed in tracked files, and nothing else, to move', async () => {
    await at.sync({ setupCommand: [] })
    await at.repository.commit({ 'pnpm-lock.yaml': 'lockfileVersion: 10\n' })
    await at.sync({ setupCommand: 'echo extra >> pnpm-lock.yaml; echo new > untracked' })
    expect(await git(at.path, 'status', '--porcelain')).toBe('M pnpm-lock.yaml\n?? untracked')
    const head = await at.repository.commit({ 'pnpm-lock.yaml': 'lockfileVersion: 11\n' })
    expect(await at.sync()).toMatchObject({ to: head, kept: undefined, changed: [] })
    expect(await readFile(join(at.path, 'pnpm-lock.yaml'), 'utf8')).toBe('lockfileVersion: 11\n')
    expect(await readFile(join(at.path, 'untracked'), 'utf8')).toBe('new\n')
  })
})

describe('work in the sandbox', () => {
  let head: string
  beforeEach(async () => {
    await at.sync()
    head = await at.repository.commit({ 'README.md': 'new\n', 'added.txt': 'theirs\n' })
  })

  const expectKept = async (kept: string, changed: readonly string[] = []): Promise<void> => {
    expect(await at.sync()).toMatchObject({ from: at.sha, head, kept, reran: false, changed })
  }

  test('in a tracked file keeps the checkout where it is', async () => {
    await writeFile(join(at.path, 'README.md'), 'mine\n')
    await expectKept('changes', ['README.md'])
    expect(await readFile(join(at.path, 'README.md'), 'utf8')).toBe('mine\n')
  })

  test('that is staged does too', async () => {
    await writeFile(join(at.path, 'mine.txt'), 'mine\n')
    await git(at.path, 'add', 'mine.txt')
    await expectKept('changes', ['mine.txt'])
    expect(await git(at.path, 'diff', '--cached', '--name-only')).toBe('mine.txt')
  })

  test('in a file the new commit brings does too', async () => {
    await writeFile(join(at.path, 'added.txt'), 'mine\n')
    await expectKept('untracked')
    expect(await readFile(join(at.path, 'added.txt'), 'utf8')).toBe('mine\n')
  })

  test('in a file that is ignored and that the new commit brings does too', async () => {
    await writeFile(join(at.path, '.git/info/exclude'), 'added.txt\n')
    await writeFile(join(at.path, 'added.txt'), 'mine\n')
    await expectKept('untracked')
    expect(await readFile(join(at.path, 'added.txt'), 'utf8')).toBe('mine\n')
  })

  test('is not blamed for a checkout that fails', async () => {
    await writeFile(join(at.path, '.git/info/attributes'), 'added.txt filter=broken\n')
    await git(at.path, 'config', 'filter.broken.smudge', 'false')
    await git(at.path, 'config', 'filter.broken.required', 'true')
    await expect(at.sync()).rejects.toMatchObject({ code: 'SYNC_FAILED' })
    expect(await git(at.path, 'status', '--porcelain')).toBe('')
    await git(at.path, 'config', 'filter.broken.required', 'false')
    expect(await at.sync()).toMatchObject({ to: head, kept: undefined })
  })

  test.each([
    ['staged and reverted', 'echo mine > README.md; git add README.md; git restore --source=HEAD README.md'],
    ['in a file assumed unchanged', 'git update-index --assume-unchanged README.md; echo mine > README.md'],
    ['in a file skipped', 'git update-index --skip-worktree README.md; echo mine > README.md'],
    [
      'as long as before, in the second of the checkout, beside a file that is skipped,',
      `git config core.trustctime false; git update-index --skip-worktree pnpm-lock.yaml
       touch -d @1700000000 README.md; git update-index --refresh
       printf 'mine\\nme\\n' > README.md; touch -d @1700000000 README.md .git/index`,
    ],
  ])('%s is a change', async (_title, script) => {
    await execute('bash', ['-ec', script], { cwd: at.path })
    await expectKept('changes', ['README.md'])
    const { stdout } = await execute('bash', ['-c', 'git show :README.md; cat README.md'], { cwd: at.path })
    expect(stdout).toContain('mine\n')
  })

  test.each([
    ['in an ignored directory where a file comes', 'mkdir added.txt; echo mine > added.txt/mine', 'added.txt/mine'],
    ['in an ignored file where a directory comes', 'echo mine > new', 'new'],
    ['in an ignored file of a directory that becomes a file', 'echo mine > packages/mine', 'packages/mine'],
  ])('%s is in the way', async (_title, script, file) => {
    await execute('bash', ['-ec', commitKinds], { cwd: at.repository.path })
    expect(await at.sync({ branch: 'base', setupCommand: [] })).toMatchObject({ kept: undefined })
    await execute('bash', ['-ec', `printf '%s\\n' added.txt new mine > .git/info/exclude; ${script}`], { cwd: at.path })
    expect(await at.sync({ branch: 'kinds' })).toMatchObject({ kept: 'untracked' })
    expect(await readFile(join(at.path, file), 'utf8')).toBe('mine\n')
  })

  test('under a bisection is in the way', async () => {
    await git(at.path, 'bisect', 'start', 'HEAD')
    await expectKept('changes')
    expect(await git(at.path, 'bisect', 'log')).toContain('# bad')
  })

  test('in a checkout that git refuses to read is left alone, and git says why', async () => {
    await writeFile(join(at.path, 'README.md'), 'mine\n')
    await writeFile(join(at.path, '.git/config'), '[broken\n')
    await expect(at.sync()).rejects.toMatchObject({
      code: 'SYNC_FAILED',
      message: expect.stringContaining('bad config'),
    })
    expect(await readFile(join(at.path, 'README.md'), 'utf8')).toBe('mine\n')
  })

  test('on a branch without commits of its own is on a branch', async () => {
    await git(at.path, 'switch', '--create', 'work')
    expect(await at.sync()).toMatchObject({ from: at.sha, to: at.sha, head, kept: 'branch' })
  })

  test('committed and contained in the new head is not in the way', async () => {
    await git(at.path, 'commit', '--allow-empty', '--message', 'Mine')
    const mine = await git(at.path, 'rev-parse', 'HEAD')
    await at.repository.git('fetch', '--quiet', at.path, mine)
    await at.repository.git('update-ref', 'refs/heads/main', mine)
    const further = await at.repository.commit({ 'README.md': 'further\n' })
    expect(await at.sync()).toMatchObject({ from: mine, to: further, kept: undefined })
  })

  test('on a branch does too', async () => {
    await git(at.path, 'switch', '--create', 'work')
    await writeFile(join(at.path, 'mine.txt'), 'mine\n')
    await git(at.path, 'add', 'mine.txt')
    await git(at.path, 'commit', '--message', 'Mine')
    const mine = await git(at.path, 'rev-parse', 'HEAD')
    expect(await at.sync()).toMatchObject({ to: mine, kept: 'commits' })
    expect(await git(at.path, 'branch', '--show-current')).toBe('work')
  })

  test('committed without a branch does too', async () => {
    await git(at.path, 'commit', '--allow-empty', '--message', 'Mine')
    const mine = await git(at.path, 'rev-parse', 'HEAD')
    expect(await at.sync()).toMatchObject({ from: mine, to: mine, kept: 'commits' })
  })
})

describe('what lies in the sandbox', () => {
  test('in the place of the record is neither waited for nor written through', async () => {
    await at.sync()
    await writeFile(join(at.path, '..', 'precious'), 'precious')
    await execute('bash', ['-ec', 'rm warmbox.json; mkfifo warmbox.json; ln -s ../../precious warmbox.json.new'], {
      cwd: join(at.path, '.git'),
    })
    expect(await at.sync()).toMatchObject({ to: at.sha, drift: true, reran: true })
    expect(await readFile(join(at.path, '..', 'precious'), 'utf8')).toBe('precious')
  })

  test('in its environment, about another repository, means nothing to a sync', async () => {
    const other = join(at.path, '..', 'other')
    await execute('git', ['init', '--quiet', '--initial-branch=theirs', other])
    await git(other, 'commit', '--quiet', '--allow-empty', '-m', 'Theirs')
    const trace = join(other, 'trace')
    const env = {
      GIT_DIR: join(other, '.git'),
      GIT_OBJECT_DIRECTORY: other,
      GIT_LITERAL_PATHSPECS: '1',
      GIT_TRACE_CURL: trace,
      GIT_TRACE_REDACT: '0',
    }
    const sandbox: SyncableSandbox = {
      executeCommand: (command, args, options) =>
        execCommand(at.sandbox, command, args, { ...options, env: { ...env, ...options?.env } }),
    }
    const sync = () =>
      syncRepository(sandbox, {
        getRepositoryAccess: () => Promise.resolve(at.access),
        certificateAuthority: at.server.certificateAuthority,
        workingDirectory: at.path,
        setupCommand: 'true',
      })
    expect(await sync()).toMatchObject({ cold: true, to: at.sha })
    const head = await at.repository.commit({ 'pnpm-lock.yaml': 'another\n' })
    expect(await sync()).toMatchObject({ from: at.sha, to: head, drift: true })
    expect(await git(other, 'symbolic-ref', 'HEAD')).toBe('refs/heads/theirs')
    expect(await git(other, 'remote')).toBe('')
    await expect(readFile(trace)).rejects.toMatchObject({ code: 'ENOENT' })
  })
})

describe('what somebody changed never counts as what setup did', () => {
  test('after it was committed, pushed and gone on with', async () => {
    await at.sync()
    await git(at.path, 'commit', '--allow-empty', '--message', 'Mine')
    await at.repository.git('fetch', '--quiet', at.path, 'HEAD')
    await at.repository.git('update-ref', 'refs/heads/main', 'FETCH_HEAD')
    await writeFile(join(at.path, 'README.md'), 'mine\n')
    expect(await at.sync()).toMatchObject({ kept: undefined, changed: ['README.md'] })
    await at.repository.commit({ 'elsewhere.txt': 'new\n' })
    expect(await at.sync()).toMatchObject({ kept: 'changes', changed: ['README.md'] })
    expect(await readFile(join(at.path, 'README.md'), 'utf8')).toBe('mine\n')
  })

  test('in a checkout of their own', async () => {
    await execute('git', ['clone', '--quiet', `file://${at.repository.path}`, at.path])
    await git(at.path, 'checkout', '--quiet', '--detach')
    await writeFile(join(at.path, 'README.md'), 'mine\n')
    await at.sync()
    await at.repository.commit({ 'elsewhere.txt': 'new\n' })
    expect(await at.sync()).toMatchObject({ kept: 'changes', changed: ['README.md'] })
    expect(await readFile(join(at.path, 'README.md'), 'utf8')).toBe('mine\n')
  })

  test('where a staged lockfile had setup run over it', async () => {
    await at.sync()
    await writeFile(join(at.path, 'pnpm-lock.yaml'), 'mine\n')
    await git(at.path, 'add', '--all')
    expect(await at.sync({ setupCommand: 'echo setup >> README.md' })).toMatchObject({ reran: true })
    await at.repository.commit({ 'elsewhere.txt': 'new\n' })
    expect(await at.sync()).toMatchObject({ kept: 'changes', changed: ['README.md', 'pnpm-lock.yaml'] })
    expect(await git(at.path, 'show', ':pnpm-lock.yaml')).toBe('mine')
  })

  test('staged over what setup changed; what a failed setup changed is its own, and kept when undone', async () => {
    await expect(at.sync({ setupCommand: 'echo setup >> README.md; exit 3' })).rejects.toMatchObject({
      code: 'SETUP_FAILED',
    })
    await writeFile(join(at.path, 'pnpm-lock.yaml'), 'mine\n')
    await git(at.path, 'add', 'pnpm-lock.yaml')
    await git(at.path, 'restore', '--source=HEAD', '--worktree', 'pnpm-lock.yaml')
    await at.repository.commit({ 'elsewhere.txt': 'new\n' })
    expect(await at.sync()).toMatchObject({ kept: 'changes' })
    expect(await git(at.path, 'show', ':pnpm-lock.yaml')).toBe('mine')
    await git(at.path, 'reset', '--quiet', '--', 'pnpm-lock.yaml')
    expect(await at.sync()).toMatchObject({ kept: undefined, reran: true })
    expect(await readFile(join(at.path, 'README.md'), 'utf8')).toBe('widgets\n')
    expect(await git(at.path, 'show', 'refs/warmbox-undone:README.md')).toBe('widgets\nsetup')
  })
})

describe('whatever happens in a checkout', () => {
  const steps = {
    edit: (text: string) => `echo ${text} >> README.md`,
    stage: (text: string) => `echo ${text} >> README.md; git add README.md`,
    unstage: (text: string) => `echo ${text} >> README.md; git add README.md; git restore --source=HEAD README.md`,
    commit: (text: string) => `echo ${text} > mine.txt; git add mine.txt; git commit --quiet --message ${text}`,
    untracked: (text: string) => `mkdir -p loose; echo ${text} > loose/${text}`,
    ignored: (text: string) => `echo ignored > .git/info/exclude; mkdir -p ignored; echo ${text} > ignored/${text}`,
    hide: (text: string) => `git update-index --assume-unchanged README.md; echo ${text} >> README.md`,
  } as const
  /** Everything that can still be found: files, the index, what any ref leads to. */
  const everything = `
    find . -name .git -prune -o -type f -print0 | xargs -0 cat
    git rev-list --objects --indexed-objects HEAD --all | cut -d ' ' -f 1 | git cat-file --batch`
  const identity = 'export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b'
  const names = Object.keys(steps).filter((name): name is keyof typeof steps => name in steps)

  test.skipIf(isShort)('nothing anybody wrote is lost', { timeout: 300_000 }, async () => {
    const ending = ['sync', 'head', 'sync'] as const
    const move = fc.constantFrom('sync' as const, 'head' as const, 'lockfile' as const)
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(fc.constantFrom(...names), move, move), { minLength: 2, maxLength: 6 }),
        async (actions) => {
          const path = join(await temporaryDirectory(), 'widgets')
          const setupCommand = 'echo setup >> pnpm-lock.yaml; echo setup >> README.md'
          const sync = () => at.sync({ workingDirectory: path, setupCommand })
          await sync()
          const written: string[] = []
          const lost: string[] = []
          const found = async () => {
            const { stdout } = await execute('bash', ['-c', everything], { cwd: path })
            return written.filter((text) => stdout.includes(text))
          }
          for (const [index, action] of [...actions, ...ending].entries()) {
            if (action === 'sync') {
              const before = await found()
              await sync()
              const after = await found()
              lost.push(...before.filter((text) => !after.includes(text)))
            } else if (action === 'head' || action === 'lockfile') {
              const files =
                action === 'head'
                  ? { 'README.md': `${index}\n`, 'loose/x': 'x', 'ignored/x': 'x' }
                  : { 'pnpm-lock.yaml': `${index}\n` }
              await at.repository.commit(files)
            } else {
              await execute('bash', ['-ec', `${identity}; ${steps[action](`work-${index}-`)}`], { cwd: path })
              written.push(`work-${index}-`)
            }
          }
          expect(lost).toEqual([])
        },
      ),
      { numRuns: 3, endOnFailure: true },
    )
  })
})

describe('the credential', () => {
  test('is in no command, in no file of the checkout and in no error', async () => {
    await at.sync()
    await at.repository.commit({ 'README.md': 'new\n' })
    await at.sync()
    const failed = await at
      .sync({
        setupCommand: 'echo "$SECRET" >&2; exit 1',
        buildEnv: { SECRET: 'setup-secret' },
        workingDirectory: `${at.path}2`,
      })
      .catch((error: unknown) => error)
    expect(failed).toMatchObject({ code: 'SETUP_FAILED', message: 'setup 1 of 1 failed with exit code 1: ***' })
    const commands = at.sandbox.commands.join('\n')
    expect(needles.filter((needle) => commands.includes(needle))).toEqual([])
    const { stdout } = await execute('grep', ['-rlaF', ...needles.flatMap((needle) => ['-e', needle]), at.path]).catch(
      () => ({ stdout: '' }),
    )
    expect(stdout).toBe('')
    expect(await git(at.path, 'config', '--list', '--local')).not.toContain('extraheader')
  })

  test('is known to the one command that fetches', async () => {
    await at.sync()
    const seen: (Record<string, string> | undefined)[] = []
    const spying: SyncableSandbox = {
      executeCommand: async (command, args, options) => {
        seen.push(options?.env)
        return execCommand(at.sandbox, command, args, options)
      },
    }
    await at.repository.commit({ 'pnpm-lock.yaml': 'changed\n' })
    await syncRepository(spying, {
      getRepositoryAccess: () => Promise.resolve(at.access),
      certificateAuthority: at.server.certificateAuthority,
      workingDirectory: at.path,
      setupCommand: 'true',
    })
    const withCredential = seen.filter((env) => needles.some((needle) => JSON.stringify(env ?? {}).includes(needle)))
    expect(withCredential).toHaveLength(1)
  })
})

describe('ends', () => {
  test('with its signal or its time, whatever the sandbox or a function of the options makes of them', async () => {
    const given = { getRepositoryAccess: () => Promise.resolve(at.access), sha: at.sha }
    const silent: SyncableSandbox = { executeCommand: never }
    const timeout = { code: 'SYNC_TIMEOUT' }
    await expect(syncRepository(silent, { ...given, timeoutMs: 50 })).rejects.toMatchObject(timeout)
    await expect(at.sync({ sha: at.sha, buildEnv: never, timeoutMs: 50 })).rejects.toMatchObject(timeout)
    await expect(at.sync({ getRepositoryAccess: never, timeoutMs: 50 })).rejects.toMatchObject(timeout)
    expect(await closing((signal) => syncRepository(silent, { ...given, signal }))).toEqual(new Error('closing'))
    expect(await closing((signal) => at.sync({ sha: at.sha, buildEnv: never, signal }))).toEqual(new Error('closing'))
  })
})

describe('is refused', () => {
  test('without a sandbox', async () => {
    const nothing: { sandbox?: SyncableSandbox } = {}
    // @ts-expect-error Callers without types do this.
    const synced = syncRepository(nothing.sandbox, { getRepositoryAccess: undefined })
    await expect(synced).rejects.toMatchObject({ code: 'SANDBOX_UNSUPPORTED', hint: expect.any(String) })
    // @ts-expect-error Callers without types do this.
    const run = syncRepository({ executeCommand: 'bash' }, { getRepositoryAccess: undefined })
    await expect(run).rejects.toMatchObject({ code: 'SANDBOX_UNSUPPORTED', hint: expect.any(String) })
  })

  test.each(['signal', 'onEvent'])('with a %s that is none, before anything ran', async (field) => {
    const synced = syncRepository(at.sandbox, { ...Object.fromEntries([[field, {}]]), getRepositoryAccess: never })
    await expect(synced).rejects.toMatchObject({ code: 'OPTION_TYPE', field, hint: expect.any(String) })
    expect(at.sandbox.commands).toEqual([])
  })

  test('without a repository, with revoked access, with no answer, over a sandbox that runs nothing', async () => {
    await expect(at.sync({ getRepositoryAccess: undefined })).rejects.toMatchObject({ code: 'NO_REPOSITORY' })
    at.server.setToken('another')
    await expect(at.sync()).rejects.toMatchObject({ code: 'ACCESS_REFUSED' })
    await at.server.close()
    await expect(at.sync()).rejects.toMatchObject({ code: 'HEAD_UNREACHABLE' })
    await expect(
      syncRepository({}, { getRepositoryAccess: () => Promise.resolve(at.access), sha: at.sha }),
    ).rejects.toMatchObject({ code: 'SANDBOX_UNSUPPORTED' })
  })

  test('where the directory belongs to another repository', async () => {
    await at.sync()
    const cloneUrl = `${at.server.url}/acme/gadgets.git`
    await expect(
      at.sync({ getRepositoryAccess: () => Promise.resolve({ ...at.access, cloneUrl }), sha: at.sha }),
    ).rejects.toMatchObject({ code: 'CHECKOUT_FOREIGN' })
  })

  test('with a head that is no commit id, before anything ran', async () => {
    const cloneUrl = at.access.cloneUrl
    const resolveHead = () => Promise.resolve({ status: 'found' as const, sha: '$(touch canary)', cloneUrl })
    await expect(at.sync({ resolveHead })).rejects.toMatchObject({ code: 'SHA_INVALID' })
    expect(at.sandbox.commands).toEqual([])
  })

  test('once aborted, before anything ran', async () => {
    await expect(at.sync({ signal: AbortSignal.abort(new Error('closing')) })).rejects.toThrow('closing')
    expect(at.sandbox.commands).toEqual([])
  })
})
