import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeEach, describe, expect, test } from 'vitest'
import { needles } from './support/fixtures.ts'
import { addSubmodules } from './support/submodules.ts'
import { git, syncScene, type SyncScene } from './support/sync-scene.ts'

const execute = promisify(execFile)

let at: SyncScene
beforeEach(async () => {
  at = await syncScene()
})

const submodule = (sha: string) => addSubmodules(at.repository, { sub: { url: '../widgets.git', sha } })
const syncSubmodules = (setupCommand: string | string[] = []) => at.sync({ submodules: true, setupCommand })
const inSubmodule = (script: string) => execute('bash', ['-ec', script], { cwd: join(at.path, 'sub') })

const further = async () => submodule(await at.repository.commit({ 'README.md': 'further\n' }, { branch: 'other' }))

describe('a submodule', () => {
  test('that somebody replaced by files of their own keeps the checkout where it is', async () => {
    const from = await submodule(at.sha)
    expect(await syncSubmodules()).toMatchObject({ cold: true, to: from })
    await execute('bash', ['-ec', 'rm -rf sub; mkdir sub; echo mine > sub/README.md'], { cwd: at.path })
    await at.repository.commit({ 'added.txt': 'theirs\n' })
    expect(await syncSubmodules()).toMatchObject({ from, to: from, kept: 'untracked' })
    expect(await readFile(join(at.path, 'sub/README.md'), 'utf8')).toBe('mine\n')
  })

  test('loses no ignored file to a moved head, and no program of anybody sees the credential', async () => {
    await submodule(at.sha)
    await syncSubmodules()
    const other = await at.repository.commit({ 'build.log': 'theirs\n', 'seen.txt': 'x\n' }, { branch: 'other' })
    const head = await submodule(other)
    const spy = join(at.path, '..', 'spy')
    const seen = join(at.path, '..', 'seen')
    // As a filter it is one that changes nothing, as a file system monitor one that knows of nothing.
    await writeFile(spy, `#!/bin/bash\nenv >> '${seen}'; if [ "$#" = 0 ]; then cat; else printf 'token\\0/\\0'; fi\n`, {
      mode: 0o755,
    })
    await inSubmodule(`
      exclude="$(git rev-parse --git-path info/exclude)"; mkdir -p "$(dirname "$exclude")"; echo '*.log' >> "$exclude"
      echo '* filter=spy' > "$(dirname "$exclude")/attributes"; git config filter.spy.smudge '${spy}'
      for place in . ..; do git -C "$place" config core.fsmonitor '${spy}'; git -C "$place" update-index --fsmonitor; done
      echo mine > build.log`)
    await expect(syncSubmodules()).rejects.toMatchObject({
      code: 'SYNC_FAILED',
      message: expect.stringContaining('build.log'),
    })
    expect(await readFile(join(at.path, 'sub/build.log'), 'utf8')).toBe('mine\n')
    await inSubmodule('mv build.log ../../build.log')
    expect(await syncSubmodules()).toMatchObject({ to: head, kept: undefined })
    expect(await readFile(join(at.path, 'sub/build.log'), 'utf8')).toBe('theirs\n')
    const environments = await readFile(seen, 'utf8')
    expect(needles.filter((needle) => environments.includes(needle))).toEqual([])
  })

  test.each([
    [
      'an ignored file',
      'untracked',
      'mine.log',
      'echo "*.log" >> "$(git rev-parse --git-path info/exclude)"; echo mine > mine.log',
    ],
    [
      'an edit that is marked',
      'changes',
      'README.md',
      'git update-index --assume-unchanged README.md; echo mine > README.md',
    ],
  ])('with %s in it does not give way to a file', async (_title, kept, file, script) => {
    const from = await submodule(at.sha)
    await syncSubmodules()
    await execute('bash', ['-ec', `mkdir -p "$(git rev-parse --git-path info)"; ${script}`], {
      cwd: join(at.path, 'sub'),
    })
    await at.repository.git('update-ref', 'refs/heads/main', await withFileInPlace())
    // Whether or not they are to come along: it is there.
    expect(await at.sync({ submodules: kept === 'changes', setupCommand: [] })).toMatchObject({ from, kept })
    expect(await readFile(join(at.path, 'sub', file), 'utf8')).toBe('mine\n')
  })

  test('with nothing of anybody in it gives way to a file', async () => {
    await submodule(at.sha)
    await syncSubmodules()
    const head = await withFileInPlace()
    await at.repository.git('update-ref', 'refs/heads/main', head)
    expect(await syncSubmodules()).toMatchObject({ to: head, kept: undefined })
    expect(await readFile(join(at.path, 'sub'), 'utf8')).toBe('theirs\n')
  })

  test.each([
    ['which setup changed', 'changes', 'true', 'echo setup >> sub/README.md'],
    ['that is marked and edited', 'changes', 'git update-index --skip-worktree README.md; echo mine > README.md', []],
    ['on a branch', 'branch', 'git switch --quiet --create work', []],
    [
      'under a merge',
      'changes',
      `identity="-c user.name=S -c user.email=s@localhost"; git $identity commit --quiet --allow-empty -m Theirs
       theirs="$(git rev-parse HEAD)"; git checkout --quiet --detach HEAD~
       git $identity merge --quiet --no-ff --no-commit -s ours "$theirs"`,
      [],
    ],
  ])('%s is not moved', async (_title, kept, script, setupCommand) => {
    const from = await submodule(at.sha)
    await syncSubmodules(setupCommand)
    await inSubmodule(script)
    const before = await readFile(join(at.path, 'sub/README.md'), 'utf8')
    await further()
    expect(await syncSubmodules(setupCommand)).toMatchObject({ from, to: from, kept })
    expect(await git(join(at.path, 'sub'), 'rev-parse', 'HEAD')).toBe(at.sha)
    expect(await readFile(join(at.path, 'sub/README.md'), 'utf8')).toBe(before)
  })

  test('which setup changed is not in the way of a head that leaves it where it is', async () => {
    await submodule(at.sha)
    const setup = '[ -n "$(git -C sub status --porcelain)" ] || echo setup >> sub/README.md'
    await syncSubmodules(setup)
    const head = await at.repository.commit({ 'added.txt': 'theirs\n' })
    expect(await syncSubmodules(setup)).toMatchObject({ to: head, kept: undefined })
    expect(await readFile(join(at.path, 'sub/README.md'), 'utf8')).toBe('widgets\nsetup\n')
  })
})

/** A commit on the default branch with a file where the submodule was. */
const withFileInPlace = async (): Promise<string> => {
  const { stdout } = await execute(
    'bash',
    [
      '-ec',
      `blob="$(echo theirs | git hash-object -w --stdin)"
       tree="$({ git ls-tree main | grep -v "\tsub$"; printf '100644 blob %s\\tsub\\n' "$blob"; } | git mktree)"
       git -c user.name=S -c user.email=s@localhost commit-tree "$tree" -p main -m File`,
    ],
    { cwd: at.repository.path },
  )
  return stdout.trim()
}
