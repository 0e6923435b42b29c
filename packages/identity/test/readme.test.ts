import { readFile } from 'node:fs/promises'
import * as identityPackage from '@warmbox/identity'
import { expect, test } from 'vitest'

const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8')

test('the ref the README shows is the one its example gives', () => {
  expect(readme).toContain(
    identityPackage.repoTemplateRef({
      cloneUrl: 'https://github.com/acme/widgets.git',
      sha: '3f786850e387550fdab836ed7e6dc881de23001b',
      setupCommand: ['corepack enable', 'pnpm install --frozen-lockfile'],
    }),
  )
})

test('every function this package exports is named in the README', () => {
  const functions = Object.entries(identityPackage).filter(([, value]) => typeof value === 'function')
  expect(functions.map(([name]) => name).filter((name) => !readme.includes(name))).toEqual([])
})
