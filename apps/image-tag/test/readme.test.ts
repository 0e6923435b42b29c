import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { readOptions } from '../src/options.ts'
import { usage } from '../src/usage.ts'

const root = join(import.meta.dirname, '../../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

/** The lines of a document's shell blocks that run this program, less what runs it. */
const commandsIn = (document: string): readonly string[] =>
  [...document.matchAll(/^```sh\n([\s\S]*?)^```/gm)]
    .flatMap(([, block = '']) => block.replaceAll('\\\n', ' ').split('\n'))
    .flatMap((line) => line.split(/^(?:\w+=\S+ )*npx -y pnpm@12 (?:--silent )?image-tag(?= |$)/)[1] ?? [])

/** Words of a command line whose only quotes are single ones, up to a redirection. */
const wordsOf = (command: string): readonly string[] =>
  [...command.replace(/ >>?.*$/, '').matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '')

test.each(['README.md', 'apps/image-tag/README.md'])('every command of %s is one this program takes', (path) => {
  const commands = commandsIn(read(path))
  expect(commands.length).toBeGreaterThan(1)
  for (const command of commands) {
    expect(readOptions(wordsOf(command), { NPM_TOKEN: 'x', IMAGE_SALT: 'x', NODE_ENV: 'x' }), command).toMatchObject({})
  }
})

test('the script at the root runs this program', () => {
  const { scripts }: { readonly scripts: Readonly<Record<string, string>> } = JSON.parse(read('package.json'))
  expect(scripts['image-tag']).toBe('node --conditions=@warmbox/source apps/image-tag/src/main.ts')
})

test('every option is in the usage and in the README of this package', () => {
  const source = read('apps/image-tag/src/command-line.ts')
  const options = [...source.matchAll(/^ {2}'?([a-z-]+)'?: \{ type: /gm)].map(([, name]) => `--${name}`)
  expect(options.length).toBeGreaterThan(15)
  const manual = read('apps/image-tag/README.md')
  expect(options.filter((option) => !usage.includes(option))).toEqual([])
  expect(options.filter((option) => !manual.includes(option))).toEqual([])
})
