import { execFileSync } from 'node:child_process'
import { rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { digestText } from '@warmbox/identity'
import { describe, expect, test } from 'vitest'

import { checkout, clone, commit, git, write } from './repositories.ts'
import { imageTag } from './run-image-tag.ts'

interface Summary {
  readonly image: string
  readonly hash: string
  readonly dirty: boolean
  readonly files: Readonly<Record<string, string>>
  readonly warnings: readonly string[]
}

const summaryOf = async (...args: readonly string[]): Promise<Summary> => {
  const { code, stdout, stderr } = await imageTag([...args, '--json'])
  expect({ code, stderr }).toMatchObject({ code: 0 })
  const summary: Summary = JSON.parse(stdout)
  return summary
}

const LOCKFILE = '{"lockfileVersion":3}'

/** A path whose last part is no UTF-8. */
const bytes = (directory: string, byte: number, rest = ''): Buffer =>
  Buffer.concat([Buffer.from(`${directory}/`), Buffer.of(byte), Buffer.from(rest)])

describe('names that are not UTF-8', () => {
  test('count as the bytes they are: another name or content is another tag', async () => {
    const directory = checkout()
    const images: string[] = []
    for (const [byte, content] of [
      [0xff, '1'],
      [0xff, '2'],
      [0xfe, '2'],
    ] as const) {
      writeFileSync(bytes(directory, byte), content)
      images.push((await summaryOf(directory)).image)
      rmSync(bytes(directory, byte))
    }
    for (const byte of [0xff, 0xfe]) {
      symlinkSync(Buffer.of(byte), join(directory, 'link'))
      images.push((await summaryOf(directory)).image)
      rmSync(join(directory, 'link'))
    }
    expect(new Set(images).size).toBe(5)
  })

  test('are refused where they would have to be written: a lockfile, an argument, a value', async () => {
    const directory = checkout()
    writeFileSync(bytes(directory, 0xfe, 'x'), '')
    // A name that no argument of Node can hold.
    execFileSync('sh', ['-c', `mkdir "$(printf '\\376')" && echo 1 >"$(printf '\\376')/yarn.lock"`], { cwd: directory })
    commit(directory, {})
    expect(await imageTag([directory])).toMatchObject({ code: 2, stderr: expect.stringContaining('[FILE_UNUSABLE]') })
    expect((await summaryOf(directory, '--file', 'src/index.js')).dirty).toBe(false)
    for (const args of [
      ['--setup', 'echo \uFFFD'],
      ['--base', '\uFFFD'],
      ['--env', 'A'],
    ]) {
      expect(await imageTag([directory, ...args], { A: '\uFFFD' }), args[0]).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/UTF-8[^]*\[USAGE\]/),
      })
    }
  })
})

test('a sparse checkout has the names of a full one, and no changes', async () => {
  const directory = checkout()
  commit(directory, { 'a/yarn.lock': '1', 'b/yarn.lock': '2', 'b/c/poetry.lock': '3' })
  const full = await summaryOf(directory)
  const sparse = clone(directory)
  git(sparse, 'sparse-checkout', 'set', 'a')
  expect(await summaryOf(sparse)).toEqual(full)
  expect(await summaryOf(sparse, '--file', 'b/yarn.lock')).toMatchObject({ files: { 'b/yarn.lock': digestText('2') } })
  git(sparse, 'sparse-checkout', 'reapply', '--sparse-index')
  expect(await summaryOf(sparse)).toEqual(full)
})

test('a change that git was told not to look for is found', async () => {
  const directory = checkout()
  symlinkSync('a', join(directory, 'link'))
  commit(directory, { 'src/x': '1', 'src/y': '1' })
  const clean = await summaryOf(directory)
  const images = [clean.image]
  git(directory, 'update-index', '--skip-worktree', 'src/index.js', 'src/y')
  git(directory, 'update-index', '--assume-unchanged', 'src/x', 'link')
  expect(await summaryOf(directory)).toEqual(clean)
  const changes = [
    () => write(directory, { 'src/index.js': 'b' }),
    () => write(directory, { 'src/x': '2' }),
    () => rmSync(join(directory, 'src/y')),
    () => rmSync(join(directory, 'src/x')),
    () => rmSync(join(directory, 'link')),
    () => symlinkSync('b', join(directory, 'link')),
  ]
  for (const change of changes) {
    change()
    const { image, dirty } = await summaryOf(directory)
    expect(dirty).toBe(true)
    images.push(image)
  }
  expect(new Set(images).size).toBe(changes.length + 1)
})

test('a file whose index entry is gone is listed once', async () => {
  const directory = checkout()
  git(directory, 'rm', '--quiet', '--cached', 'src/index.js')
  expect((await summaryOf(directory)).warnings).toEqual([expect.stringContaining('(src/index.js)')])
})

test('a tracked file that has become a directory is a change of its own', async () => {
  const directory = checkout()
  rmSync(join(directory, 'src/index.js'))
  write(directory, { 'src/index.js/x': '' })
  expect((await summaryOf(directory)).warnings).toEqual([expect.stringContaining('(src/index.js, src/index.js/x)')])
})

test('submodules: their lockfiles count where the image holds them, absent ones are warned of, and what they hide is found', async () => {
  const part = checkout()
  const directory = checkout()
  git(directory, 'submodule', '--quiet', 'add', `file://${part}`, 'part')
  commit(directory, {})
  expect(Object.keys((await summaryOf(directory)).files)).toEqual(['package-lock.json'])
  const { files, hash, warnings } = await summaryOf(directory, '--submodules')
  expect({ files, warnings }).toEqual({
    files: { 'package-lock.json': digestText(LOCKFILE), 'part/package-lock.json': digestText(LOCKFILE) },
    warnings: [],
  })
  const bare = clone(directory)
  expect((await summaryOf(bare)).warnings).toEqual([])
  const uninitialised = await summaryOf(bare, '--submodules')
  expect(uninitialised.warnings).toEqual([expect.stringMatching(/^The submodule part is not checked out/)])
  expect(uninitialised.hash).not.toBe(hash)
  git(join(directory, 'part'), 'update-index', '--assume-unchanged', 'src/index.js')
  write(directory, { 'part/src/index.js': 'b' })
  expect((await summaryOf(directory)).warnings).toEqual([expect.stringContaining('(part)')])
})
