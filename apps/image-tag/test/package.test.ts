import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
const program = join(root, 'src/main.ts')

test('this package depends on identity alone, which depends on a hash alone', () => {
  const manifest: Record<string, Record<string, string>> = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  expect(manifest['dependencies']).toEqual({ '@warmbox/identity': 'workspace:*' })
  expect([manifest['peerDependencies'], manifest['optionalDependencies']]).toEqual([undefined, undefined])
  const identity: Record<string, unknown> = JSON.parse(
    readFileSync(createRequire(program).resolve('@warmbox/identity/package.json'), 'utf8'),
  )
  expect(identity['dependencies']).toEqual({ '@stablelib/sha256': expect.any(String) })
  expect(identity['peerDependencies']).toBe(undefined)
})

test('neither e2b nor Mastra nor any package above identity can be found from here', () => {
  const names = ['@warmbox/identity', 'e2b', '@mastra/core', '@warmbox/resolution', '@warmbox/sandbox']
  const found = `const require = process.getBuiltinModule('module').createRequire(process.argv[1])
    const isFound = (name) => { try { return require.resolve(name) !== '' } catch { return false } }
    console.log(JSON.stringify(process.argv.slice(2).filter(isFound)))`
  // A process of its own: what starts the tests lends them a search path through every package installed.
  const answer = execFileSync(process.execPath, ['--conditions=@warmbox/source', '-e', found, program, ...names], {
    env: {},
  })
  expect(JSON.parse(answer.toString())).toEqual(['@warmbox/identity'])
})

test('the sources import Node, identity and each other only', () => {
  const imported = readdirSync(join(root, 'src')).flatMap((file) =>
    [...readFileSync(join(root, 'src', file), 'utf8').matchAll(/\bfrom '([^']+)'|\bimport\('([^']+)'\)/g)].map(
      ([, from, lazy]) => from ?? lazy ?? '',
    ),
  )
  expect(imported).toContain('@warmbox/identity')
  expect(imported.filter((name) => !/^(?:node:[a-z_/]+|\.\/[a-z-]+\.ts|@warmbox\/identity)$/.test(name))).toEqual([])
})
