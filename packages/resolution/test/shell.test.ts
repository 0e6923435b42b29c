import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { quoteShell } from '@warmbox/resolution'
import { array, assert, constantFrom, oneof, property, string } from 'fast-check'
import { afterAll, expect, test } from 'vitest'

/** Where quoting fails the words are commands and redirections: they shall find no program, and no file of ours. */
const directory = mkdtempSync(join(tmpdir(), 'warmbox-shell-'))
afterAll(() => rmSync(directory, { recursive: true }))

/** What a shell makes of the words, each ended by NUL. */
const echoed = (words: readonly string[]): string[] =>
  execFileSync('bash', {
    cwd: directory,
    env: { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8' },
    input: `PATH=; printf '%s\\0' ${words.map(quoteShell).join(' ')}`,
    encoding: 'utf8',
  })
    .split('\0')
    .slice(0, -1)

test('a shell reads every word as it was given', () => {
  const nasty = [
    '',
    ' ',
    "it's",
    '"',
    '$(touch /tmp/canary)',
    '`id`',
    '; rm -rf /',
    '\\',
    '\n',
    '-rf',
    '*',
    '!!',
    '~',
    'ü€😀',
  ]
  expect(echoed(nasty)).toEqual(nasty)
})

test('whatever the words are', () => {
  const active = constantFrom(...'\'"\\$`!#&*()[]{}<>?|;~^=% \n\t\r-ab'.split(''))
  const word = oneof(string({ unit: 'binary' }), string({ unit: active })).filter((text) => !text.includes('\0'))
  assert(
    // Many words for each shell: to start one takes long on a busy machine.
    property(array(word, { minLength: 200, maxLength: 300 }), (words) => {
      expect(echoed(words)).toEqual(words)
    }),
    { numRuns: 3 },
  )
})

test('a NUL is refused', () => {
  expect(() => quoteShell('a\0b')).toThrow(expect.objectContaining({ code: 'INVALID_SHELL_WORD' }))
})
