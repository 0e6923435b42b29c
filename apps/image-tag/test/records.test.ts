import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { expect, test } from 'vitest'

import { explainRecord } from '../src/explain.ts'
import { nameCheckout } from '../src/named.ts'
import { readRecord } from '../src/record.ts'
import { recordOf } from '../src/recorded.ts'
import { checkout, temporary, write } from './repositories.ts'
import { imageTag } from './run-image-tag.ts'

test('a record that cannot be written is said in a sentence, and nothing is named', async () => {
  const directory = checkout()
  for (const place of [temporary(), join(temporary(), 'absent/record.json'), join(directory, 'src/index.js/x')]) {
    const { code, stdout, stderr } = await imageTag([directory, '--record', place])
    expect({ code, stdout }, place).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^--record: .* cannot be written \(E[A-Z]+\)\.\n.*\[RECORD_UNWRITABLE\]\n$/)
    expect(stderr).toContain(place)
  }
})

test('a record whose parts do not belong together is refused by the name of its file', async () => {
  const directory = checkout()
  const environment = { A: '1', S: 's' }
  const open = join(temporary(), 'open.json')
  const hiding = join(temporary(), 'hiding.json')
  await imageTag([directory, '--env', 'V=@1', '--record', open])
  await imageTag([directory, '--env', 'V=@1', '--env', 'A', '--salt-env', 'S', '--record', hiding], environment)
  const zeros = '0'.repeat(40)
  const everywhere: readonly (readonly [RegExp, string])[] = [
    [/"scheme": 1/, '"scheme": 2'],
    [/"scheme": 1/, '"scheme": 0'],
    [/(?<="image": ".*-)[0-9a-f]{40}/, zeros],
    [/(?<="hash": ")[0-9a-f]{40}/, zeros],
    [/(?<="hash": ")[0-9a-f]{40}/, 'x'],
    [/(?<="sha": ")[0-9a-f]{40}/, zeros],
    [/"prefix": "widgets"/, '"prefix": "gadgets"'],
    [/"prefix": "widgets"/, '"prefix": "W"'],
    [/"hash"/, '"changes": "x",\n"hash"'],
    [/"cpuCount": 2/, '"cpuCount": 3'],
    [/"baseTemplateId": "image"/, '"baseTemplateId": "other"'],
    [/https:/, 'http:'],
    [/"hiddenEnv": \[/, '"hiddenEnv": ["not a name", '],
    [/"hiddenEnv": \[/, '"hiddenEnv": ["V", '],
  ]
  const cases = [
    ...everywhere.flatMap(([from, to]) => [[open, from, to] as const, [hiding, from, to] as const]),
    [open, /"cpuCount": 2/, '"cpuCount": 4'],
    [open, /(?<="package-lock.json": "|"file:package-lock.json": ")[0-9a-f]+/, 'x'],
    [open, /"version": "1"/, '"version": "2"'],
    [open, new RegExp(`[0-9a-f]{40}(?=[":])`, 'g'), zeros],
  ] as const
  for (const [source, from, to] of cases) {
    const text = readFileSync(source, 'utf8')
    expect(readRecord(text, 'edited.json')).toMatchObject({ scheme: 1 })
    // JSON wraps no list that is empty.
    const edited = text.replace(from, to).replace(/, (?=\n? *\])/, '')
    expect(edited).not.toBe(text)
    expect(() => readRecord(edited, 'edited.json'), `${from} ${to}`).toThrow(
      expect.objectContaining({
        code: 'RECORD_INVALID',
        message: expect.stringMatching(/^edited\.json is no record: /),
      }),
    )
  }
  writeFileSync(open, readFileSync(open, 'utf8').replace('"cpuCount": 2', '"cpuCount": 4'))
  expect(await imageTag([directory, '--env', 'V=@1', '--against', open])).toEqual({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(/open\.json is no record: hash is not that of its inputs\.\n.*\[RECORD_INVALID\]\n$/),
  })
})

test('what is no regular file, or is larger than any record, is not read', async () => {
  const directory = checkout()
  const place = temporary()
  execFileSync('mkfifo', [join(place, 'fifo')])
  writeFileSync(join(place, 'large'), '')
  truncateSync(join(place, 'large'), 200_000_000)
  for (const [path, problem] of [
    [join(place, 'fifo'), 'no regular file'],
    ['/dev/zero', 'no regular file'],
    [join(place, 'large'), 'larger'],
  ] as const) {
    expect(await imageTag([directory, '--against', path])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(new RegExp(`${path} is no record[^]*${problem}[^]*\\[RECORD_INVALID\\]\n$`)),
    })
  }
})

test('a record of an earlier scheme is told as such', () => {
  const named = nameCheckout(
    { cloneUrl: 'https://github.com/acme/widgets', sha: '0'.repeat(40), changes: undefined, files: {} },
    {
      setup: [],
      env: {},
      base: undefined,
      extra: {},
      cpuCount: undefined,
      memoryMB: undefined,
      workingDirectory: undefined,
      submodules: false,
      lfs: false,
      salt: '',
    },
    undefined,
  )
  const later = { ...named, scheme: named.scheme + 1, image: 'another' }
  expect(explainRecord(recordOf(named), later)).toMatchObject({
    same: false,
    differences: [{ field: 'scheme', before: `${named.scheme}`, after: `${later.scheme}` }],
  })
})

test('more lockfiles than a name has inputs for count as one list of them', async () => {
  const directory = checkout()
  for (let number = 0; number < 130; number++) {
    mkdirSync(join(directory, `${number}`))
    writeFileSync(join(directory, `${number}/yarn.lock`), `${number}`)
  }
  const record = join(temporary(), 'record.json')
  const { code, stdout } = await imageTag([directory, '--json', '--record', record])
  const { files }: { readonly files: object } = JSON.parse(stdout)
  expect({ code, count: Object.keys(files).length }).toEqual({ code: 0, count: 131 })
  expect((await imageTag([directory, '--against', record])).code).toBe(0)
  writeFileSync(join(directory, '7/yarn.lock'), 'x')
  const changed = await imageTag([directory, '--against', record])
  expect(changed).toMatchObject({ code: 1, stderr: expect.stringMatching(/\n {2}list of files: \w+ -> \w+\n/) })
})

test('a lockfile whose path is no input of its own counts in a list as well', async () => {
  const directory = checkout()
  const hashes: string[] = []
  for (const path of ['\u0001/yarn.lock', `${'d'.repeat(150)}/${'e'.repeat(150)}/yarn.lock`]) {
    write(directory, { [path]: '' })
    const { code, stdout } = await imageTag([directory, '--json'])
    expect({ code, path }).toEqual({ code: 0, path })
    const { hash }: { readonly hash: string } = JSON.parse(stdout)
    hashes.push(hash)
    rmSync(join(directory, dirname(path)), { recursive: true })
  }
  expect(new Set(hashes).size).toBe(2)
})
