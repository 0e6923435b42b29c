import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { digestText } from '@warmbox/identity'
import { describe, expect, test } from 'vitest'

import { checkout, clone, commit, git, temporary, write } from './repositories.ts'
import { type Ended, imageTag, imageTagProcess } from './run-image-tag.ts'

const explanationOf = ({ code, stdout }: Ended): unknown => {
  const { against }: { against: unknown } = JSON.parse(stdout)
  return { code, against }
}

const recordAside = async (args: readonly string[], environment: Readonly<Record<string, string>> = {}) => {
  const record = join(temporary(), 'record.json')
  const { code, stderr } = await imageTag([...args, '--record', record], environment)
  expect({ code, stderr }).toMatchObject({ code: 0 })
  return record
}

const words = (text: string): readonly string[] => text.split(' ')

describe('against another checkout', () => {
  test('the same image ends with 0 and says so; stdout keeps its two lines', async () => {
    const directory = checkout()
    const other = clone(directory)
    const { code, stdout, stderr } = await imageTagProcess([directory, '--against', other])
    expect({ code, stderr }).toEqual({ code: 0, stderr: `The same image as ${other}\n` })
    expect(stdout.split('\n')).toHaveLength(3)
  })

  test('another one ends with 1 and each difference, from there to here', async () => {
    const other = checkout()
    const directory = clone(other)
    const before = git(other, 'rev-parse', 'HEAD')
    const after = commit(directory, { 'package-lock.json': '{}', 'new\nline/yarn.lock': '' })
    git(directory, 'remote', 'set-url', 'origin', 'https://github.com/acme/gadgets.git')
    write(directory, { 'src/index.js': 'b' })
    const ended = await imageTagProcess([directory, '--prefix', 'w', '--against', other])
    const digest = /-dirty-(.+)\n/.exec(ended.stdout)?.[1]
    expect(ended.code).toBe(1)
    expect(ended.stderr.split('\n').slice(1)).toEqual([
      `Not the same image as ${other}; a new hash:`,
      `  commit: ${before} -> ${after}`,
      '  repository: https://github.com/acme/Widgets -> https://github.com/acme/gadgets',
      `  file package-lock.json: ${digestText('{"lockfileVersion":3}')} -> ${digestText('{}')}`,
      `  file "new\\nline/yarn.lock": none -> ${digestText('')}`,
      `  uncommitted changes: none -> ${digest}`,
      '',
    ])
  })

  test('a difference of the commit alone leaves the hash', async () => {
    const other = checkout()
    const directory = clone(other)
    commit(directory, { 'src/index.js': 'b' })
    const { code, stderr } = await imageTag([directory, '--against', other])
    expect(code).toBe(1)
    expect(stderr).toMatch(/; the hash is the same:\n {2}commit: \w+ -> \w+\n$/)
  })

  test('a named file that the other lacks is a difference, where this one lacking it is wrong use', async () => {
    const other = checkout()
    const directory = clone(other)
    commit(directory, { Dockerfile: 'FROM x' })
    const ended = await imageTag([directory, '--json', '--file', 'Dockerfile', '--against', other])
    expect(explanationOf(ended)).toMatchObject({
      code: 1,
      against: {
        differences: [{ field: 'sha' }, { field: 'extra.file:Dockerfile', after: digestText('FROM x') }],
      },
    })
    expect((await imageTag([other, '--file', 'Dockerfile'])).stderr).toContain('[FILE_UNUSABLE]')
  })
})

describe('against a record', () => {
  const environment = { A: '1', B: '2', SALT: 'pepper' }

  test('the same inputs are the same image', async () => {
    const directory = checkout()
    write(directory, { 'src/index.js': 'b' })
    const args = [
      '--env',
      'A',
      '--env',
      'B',
      '--env',
      'C=@1',
      '--salt-env',
      'SALT',
      '--workdir',
      '/w',
      '--setup',
      'make',
    ]
    const record = await recordAside([directory, ...args], environment)
    const ended = await imageTag([clone(directory), '--json', ...args, '--against', record], environment)
    // The clone lacks the change, which is all there is to tell.
    expect(explanationOf(ended)).toEqual({
      code: 1,
      against: {
        same: false,
        differences: [expect.objectContaining({ field: 'changes', affects: 'tag' })],
        untold: [],
      },
    })
    const again = await imageTag([directory, '--json', ...args, '--against', record], environment)
    expect(explanationOf(again)).toEqual({ code: 0, against: { same: true, differences: [], untold: [] } })
  })

  test('every input that changed is told, versions and sizes included', async () => {
    const directory = checkout()
    const record = await recordAside([directory, '--env', 'V=@1', '--setup', 'make', '--base', 'a', '--extra', 'os=x'])
    const ended = await imageTag([
      directory,
      ...words('--env V=@2 --env NEW=@1 --base b --extra os=y --cpu 4 --memory 2048 --workdir /w'),
      ...words('--submodules --lfs --prefix x --setup'),
      'make all',
      '--against',
      record,
    ])
    expect(ended.stderr.split('\n').slice(1)).toEqual([
      '  --setup: ["make"] -> ["make all"]',
      '  --env V: version 1 -> version 2',
      '  --cpu: 2 -> 4',
      '  --memory: 1024 -> 2048',
      '  --workdir: /home/user/Widgets -> /w',
      '  --submodules: false -> true',
      '  --lfs: false -> true',
      '  --base: a -> b',
      '  --extra os: x -> y',
      '  --env NEW: none -> version 1',
      '  --prefix: widgets -> x',
      '',
    ])
  })

  test('another prefix alone leaves the hash', async () => {
    const directory = checkout()
    const record = await recordAside([directory])
    const { code, stderr } = await imageTag([directory, '--prefix', 'x', '--against', record])
    expect(code).toBe(1)
    expect(stderr).toMatch(/; the hash is the same:\n {2}--prefix: widgets -> x\n$/)
  })

  test.each([
    ['a value', ['--env', 'A'], { A: '9' }, 'buildEnv.A'],
    ['a salt', ['--salt-env', 'SALT'], { SALT: '9' }, 'salt'],
  ])('%s that changed is found though the record does not hold it', async (_what, args, changed, field) => {
    const directory = checkout()
    const record = await recordAside([directory, ...args], environment)
    const ended = await imageTag([directory, '--json', ...args, '--cpu', '4', '--against', record], {
      ...environment,
      ...changed,
    })
    expect(explanationOf(ended)).toMatchObject({
      against: {
        differences: [{ field: 'cpuCount' }, { field, affects: 'name', before: 'set', after: 'changed' }],
        untold: [],
      },
    })
  })

  test('of several hidden values it is told only that one may have changed, and none where none has', async () => {
    const directory = checkout()
    const args = [directory, '--env', 'A', '--env', 'B', '--salt-env', 'SALT']
    const record = await recordAside(args, environment)
    const changed = await imageTag([...args, '--against', record], { ...environment, B: '3' })
    expect(changed.code).toBe(1)
    expect(changed.stderr).toContain('  --env A, --env B, --salt-env: the values may have changed')
    const unchanged = await imageTag([...args, '--json', '--lfs', '--against', record], environment)
    expect(explanationOf(unchanged)).toMatchObject({ against: { differences: [{ field: 'lfs' }], untold: [] } })
  })

  test('a value or a salt that is gone, or new, is a difference, and leaves the others untold', async () => {
    const directory = checkout()
    const args = [directory, '--env', 'A', '--env', 'B', '--salt-env', 'SALT']
    const record = await recordAside(args, environment)
    const gone = await imageTag([directory, '--json', '--env', 'A', '--env', 'C', '--against', record], {
      A: '1',
      C: '3',
    })
    expect(explanationOf(gone)).toMatchObject({
      code: 1,
      against: {
        differences: [
          { field: 'buildEnv.B', before: 'set' },
          { field: 'salt', before: 'set' },
          { field: 'buildEnv.C', after: 'set' },
        ],
        untold: ['buildEnv.A'],
      },
    })
  })

  test('a record with a field missing or of another type is refused by that field', async () => {
    const directory = checkout()
    const record = await recordAside([directory, '--env', 'V=@1'])
    const text = readFileSync(record, 'utf8')
    for (const [change, to, field] of [
      ['"record": 1', '"record": 2', 'record'],
      ['"image"', '"picture"', 'image'],
      ['"scheme": 1', '"scheme": "1"', 'scheme'],
      ['"setupCommand": []', '"setupCommand": [1]', 'setupCommand'],
      ['"version": "1"', '"value": "1"', 'buildEnv'],
      ['"lfs": false', '"lfs": 0', 'lfs'],
      ['"hiddenEnv": []', '"hiddenEnv": {}', 'hiddenEnv'],
      ['"extra": {', '"extra": 1, "x": {', 'extra'],
    ] as const) {
      expect(text).toContain(change)
      writeFileSync(record, text.replace(change, to))
      const { code, stderr } = await imageTag([directory, '--against', record])
      expect({ code, stderr }, change).toEqual({
        code: 2,
        stderr: expect.stringMatching(new RegExp(`^[^ ]+ is no record: ${field} is not .*\n.*\\[RECORD_INVALID\\]\n$`)),
      })
    }
  })
})
