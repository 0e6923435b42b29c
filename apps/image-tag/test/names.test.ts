import { chmodSync, mkdirSync, readFileSync, symlinkSync, utimesSync } from 'node:fs'
import { join } from 'node:path'

import { digestText, repoTemplateRef } from '@warmbox/identity'
import { describe, expect, test } from 'vitest'

import { checkout, clone, commit, git, REMOTE, temporary, write } from './repositories.ts'
import { imageTag, imageTagProcess, namesOf, readNames } from './run-image-tag.ts'

describe('two lines', () => {
  test('the image carries hash and commit, the cache key the hash alone, and both start with the repository', async () => {
    const directory = checkout()
    const { code, stdout, stderr } = await imageTag([directory])
    const sha = git(directory, 'rev-parse', 'HEAD')
    expect(stdout).toMatch(new RegExp(`^image=(widgets-[0-9a-f]{40}):sha-${sha}\ncache_key=\\1\n$`))
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  test('the hash is the one identity gives for the same inputs', async () => {
    const directory = checkout()
    const { image } = await namesOf([directory, '--setup', 'npm ci', '--file', 'src/index.js', '--base', 'Node:24'])
    const ref = repoTemplateRef(
      {
        cloneUrl: REMOTE,
        sha: git(directory, 'rev-parse', 'HEAD'),
        setupCommand: 'npm ci',
        baseTemplateId: 'image',
        extra: {
          base: 'Node:24',
          'file:src/index.js': 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb',
        },
      },
      { prefix: 'widgets' },
    )
    expect(image).toBe(ref)
  })

  test('any directory of the checkout stands for all of it, and without one the current directory', async () => {
    const directory = checkout()
    const names = await namesOf([directory])
    expect(await namesOf([join(directory, 'src')])).toEqual(names)
    expect(readNames(await imageTagProcess([], { cwd: join(directory, 'src') }))).toEqual(names)
  })

  test('as JSON', async () => {
    const directory = checkout()
    const { image, cacheKey } = await namesOf([directory])
    expect(JSON.parse((await imageTag([directory, '--json'])).stdout)).toEqual({
      image,
      cacheKey,
      hash: cacheKey.slice('widgets-'.length),
      scheme: 1,
      sha: git(directory, 'rev-parse', 'HEAD'),
      dirty: false,
      files: { 'package-lock.json': digestText('{"lockfileVersion":3}') },
      warnings: [],
    })
  })
})

describe('the same names', () => {
  test.each(['C', 'tr_TR.UTF-8', 'et_EE.UTF-8'])('for a clone in another directory, with LC_ALL=%s', async (locale) => {
    const directory = checkout()
    commit(directory, { 'ä/yarn.lock': '1', 'Z/yarn.lock': '2', 'I/yarn.lock': '3', 'ı/yarn.lock': '4' })
    const environment = { LC_ALL: locale, LANG: locale, TZ: 'Asia/Kathmandu' }
    const names = await namesOf([directory])
    expect(readNames(await imageTagProcess([clone(directory)], { environment }))).toEqual(names)
  })

  test('for a shallow clone, a detached head and a linked working tree', async () => {
    const directory = checkout()
    commit(directory, { 'src/index.js': 'b' })
    const names = await namesOf([directory])
    expect(await namesOf([clone(directory, '--depth=1')])).toEqual(names)
    git(directory, 'checkout', '--quiet', '--detach')
    expect(await namesOf([directory])).toEqual(names)
    const linked = join(temporary(), 'linked')
    git(directory, 'worktree', 'add', '--quiet', '--detach', linked)
    expect(await namesOf([linked])).toEqual(names)
  })

  test('for every spelling of the remote, and a remote of another name where it is the only one', async () => {
    const directory = checkout()
    const names = await namesOf([directory])
    git(directory, 'remote', 'set-url', 'origin', 'https://GitHub.com:443/acme/Widgets/')
    expect(await namesOf([directory])).toEqual(names)
    git(directory, 'remote', 'rename', 'origin', 'upstream')
    expect(await namesOf([directory])).toEqual(names)
  })

  test('whatever a surrounding git hook and the configuration of the user say', async () => {
    const directory = checkout()
    const names = await namesOf([directory])
    const home = temporary()
    write(home, {
      '.gitconfig': `[core]\nexcludesFile = ${home}/ignored\nfsmonitor = touch ${home}/ran\n[url "https://t0k3n@github.com/"]\ninsteadOf = https://github.com/\n[status]\nshowUntrackedFiles = no\nrelativePaths = true\n`,
      ignored: '*.tmp\n',
    })
    const environment = { HOME: home, GIT_DIR: '/nonexistent', GIT_INDEX_FILE: '/nonexistent' }
    expect(readNames(await imageTagProcess([directory], { environment }))).toEqual(names)
    write(directory, { 'left.tmp': '' })
    expect(readNames(await imageTagProcess([directory], { environment }))).toEqual(await namesOf([directory]))
    expect((await imageTagProcess([directory], { environment })).stderr).toContain('left.tmp')
    expect(() => git(home, 'hash-object', 'ran')).toThrow('ran')
  })
})

describe('another commit', () => {
  test('with equal lockfiles is another tag of the same image, and the same cache key', async () => {
    const directory = checkout()
    const before = await namesOf([directory])
    const sha = commit(directory, { 'src/index.js': 'b' })
    const after = await namesOf([directory])
    expect(after.cacheKey).toBe(before.cacheKey)
    expect(after.image).toBe(`${before.image.split(':')[0]}:sha-${sha}`)
    expect(after.image).not.toBe(before.image)
  })

  test('with another lockfile, at any depth, is another image and cache key', async () => {
    const directory = checkout()
    const keys = [(await namesOf([directory])).cacheKey]
    for (const files of [{ 'package-lock.json': '{}' }, { 'a/b/Cargo.lock': '' }, { 'a/b/Cargo.lock': '1' }]) {
      commit(directory, files)
      keys.push((await namesOf([directory])).cacheKey)
    }
    git(directory, 'rm', '--quiet', 'package-lock.json')
    keys.push((await namesOf([directory])).cacheKey)
    expect(new Set(keys).size).toBe(keys.length)
  })

  test('in a repository of SHA-256', async () => {
    const directory = temporary()
    git(directory, 'init', '--quiet', '--object-format=sha256')
    const sha = commit(directory, { 'yarn.lock': '' })
    expect(sha).toHaveLength(64)
    expect((await namesOf([directory, '--url', REMOTE])).image).toMatch(new RegExp(`:sha-${sha}$`))
  })
})

describe('every input', () => {
  const environment = { A: '1', B: '2', EMPTY: '', SALT: 'pepper' }
  const inputs: readonly (readonly string[])[] = [
    [],
    ['--url', 'https://github.com/acme/gadgets.git'],
    ['--setup', 'npm ci'],
    ['--setup', 'npm ci', '--setup', 'npm test'],
    ['--setup', 'npm test', '--setup', 'npm ci'],
    ['--env', 'A'],
    ['--env', 'B'],
    ['--env', 'EMPTY'],
    ['--env', 'A=@1'],
    ['--env', 'A=@2'],
    ['--base', 'node:24'],
    ['--base', 'Node:24'],
    ['--base', `mcr.microsoft.com/devcontainers/base@sha256:${'0'.repeat(64)}`],
    ['--file', 'src/index.js'],
    ['--file', 'src/index.js', '--file', 'package-lock.json'],
    ['--extra', 'os=linux'],
    ['--extra', 'os='],
    ['--cpu', '4'],
    ['--memory', '2048'],
    ['--workdir', '/workspace'],
    ['--submodules'],
    ['--lfs'],
    ['--salt-env', 'SALT'],
  ]

  test('makes another hash', async () => {
    const directory = checkout()
    const keys: string[] = []
    for (const input of inputs) keys.push((await namesOf([directory, '--prefix', 'x', ...input], environment)).cacheKey)
    expect(new Set(keys).size).toBe(inputs.length)
  })

  test('that is said twice over, or is the default, makes none', async () => {
    const directory = checkout()
    const { cacheKey } = await namesOf([directory])
    const defaults = ['--cpu', '2', '--memory', '1024', '--workdir', '/home/user/Widgets', '--setup', ' ']
    expect((await namesOf([directory, ...defaults, '--file', './package-lock.json'])).cacheKey).toBe(cacheKey)
  })

  test('but the value of a variable with a version, which need not be set, and the prefix', async () => {
    const directory = checkout()
    const versioned = [directory, '--env', 'A=@1']
    const { cacheKey } = await namesOf(versioned, environment)
    expect((await namesOf(versioned, { A: 'rotated' })).cacheKey).toBe(cacheKey)
    expect((await namesOf(versioned)).cacheKey).toBe(cacheKey)
    const { image } = await namesOf([...versioned, '--prefix', 'ghcr.io:443/acme/w.x__y'])
    expect(image.replace('ghcr.io:443/acme/w.x__y', 'widgets').split(':')[0]).toBe(cacheKey)
  })
})

describe('a checkout with changes', () => {
  test('says so, and never shares a tag with its commit or with other changes', async () => {
    const directory = checkout()
    const images = [(await namesOf([directory])).image]
    const changes = [
      () => write(directory, { 'src/index.js': 'b' }),
      () => write(directory, { 'src/index.js': 'c' }),
      () => chmodSync(join(directory, 'src/index.js'), 0o755),
      () => write(directory, { 'new/file': '' }),
      () => write(directory, { 'new/file': '1' }),
      () => symlinkSync('a', join(directory, 'new/link')),
      () => git(directory, 'rm', '--quiet', '--force', 'src/index.js'),
    ]
    for (const change of changes) {
      change()
      const { code, stdout, stderr } = await imageTag([directory])
      expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('not what was committed') })
      images.push(stdout.split('\n')[0]?.slice('image='.length) ?? '')
    }
    expect(new Set(images).size).toBe(changes.length + 1)
    expect(images.at(-1)).toMatch(/:sha-[0-9a-f]{40}-dirty-[0-9a-f]{32}$/)
  })

  test('shares its tag with equal changes elsewhere, staged or not', async () => {
    const directory = checkout()
    const other = clone(directory)
    for (const place of [directory, other]) write(place, { 'src/index.js': 'b', 'new file': '1' })
    git(other, 'add', '--all')
    expect(await namesOf([other])).toEqual(await namesOf([directory]))
  })

  test('counts what changed inside a submodule, at any commit', async () => {
    const part = checkout()
    const directory = checkout()
    git(directory, 'submodule', '--quiet', 'add', `file://${part}`, 'part')
    commit(directory, {})
    const images = [(await namesOf([directory])).image]
    for (const content of ['x', 'y']) {
      write(directory, { 'part/src/index.js': content })
      images.push((await namesOf([directory])).image)
    }
    commit(join(directory, 'part'), {})
    images.push((await namesOf([directory])).image)
    expect(new Set(images).size).toBe(4)
  })

  test('is none where only ignored files were added, and reading it writes nothing', async () => {
    const directory = checkout()
    commit(directory, { '.gitignore': 'node_modules\n' })
    const { image } = await namesOf([directory])
    write(directory, { 'node_modules/a/package-lock.json': '{}' })
    // Makes git look at the file again, and note in its index that it did.
    utimesSync(join(directory, 'src/index.js'), 0, 0)
    const index = readFileSync(join(directory, '.git/index'))
    expect((await namesOf([directory])).image).toBe(image)
    expect(readFileSync(join(directory, '.git/index')).equals(index)).toBe(true)
  })

  test('hashes the lockfile that lies there, not the committed one', async () => {
    const directory = checkout()
    const before = await namesOf([directory])
    write(directory, { 'package-lock.json': '{}' })
    expect((await namesOf([directory])).cacheKey).not.toBe(before.cacheKey)
    write(directory, { 'package-lock.json': '{"lockfileVersion":3}' })
    expect(await namesOf([directory])).toEqual(before)
  })
})

test('a checkout without a lockfile is warned of, and a named file silences that', async () => {
  const directory = checkout()
  git(directory, 'rm', '--quiet', 'package-lock.json')
  commit(directory, {})
  expect((await imageTag([directory])).stderr).toMatch(/^No lockfile was found/)
  expect((await imageTag([directory, '--file', 'src/index.js'])).stderr).toBe('')
  mkdirSync(join(directory, 'yarn.lock'))
  expect((await imageTag([directory])).stderr).toMatch(/^No lockfile was found/)
})
