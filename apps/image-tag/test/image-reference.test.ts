import { describe, expect, test } from 'vitest'

import { cacheKey, defaultPrefix, imageReference, parsePrefix } from '../src/image-reference.ts'

const hash = 'a'.repeat(40)
const sha = 'b'.repeat(64)

// The grammar of https://github.com/opencontainers/distribution-spec, "Pulling manifests": name, and reference as a tag.
const name = /^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(\/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$/
const tag = /^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$/

describe('a prefix', () => {
  test.each([
    ['widgets', 'widgets', ''],
    ['a.b_c__d---e/f', 'f', ''],
    ['ghcr.io/acme/widgets', 'widgets', 'ghcr.io/'],
    ['localhost/widgets', 'widgets', ''],
    ['LOCALHOST:5000/acme/widgets', 'widgets', 'LOCALHOST:5000/'],
    ['Registry.Example.com/w', 'w', 'Registry.Example.com/'],
    ['[::1]:5000/w', 'w', '[::1]:5000/'],
    ['w'.repeat(214), 'w'.repeat(214), ''],
  ])('%s names an image registries take', (given, component, registry) => {
    const prefix = parsePrefix(given)
    const reference = imageReference(prefix, hash, sha, '0'.repeat(32))
    expect(reference).toBe(`${given}-${hash}:sha-${sha}-dirty-${'0'.repeat(32)}`)
    const [, repository, reach] = /^(.*):([^:/]*)$/.exec(reference) ?? []
    expect(repository?.slice(registry.length)).toMatch(name)
    expect(repository?.length).toBeLessThanOrEqual(255)
    expect(reach).toMatch(tag)
    expect(cacheKey(prefix, hash)).toBe(`${component}-${hash}`)
  })

  test.each([
    '',
    '/w',
    'w/',
    'a//w',
    'W',
    'acme/Widgets',
    'Acme/widgets',
    'w_',
    'w-',
    '-w',
    'a..b',
    'a___b',
    'a._b',
    'host:5000',
    'host:port/w',
    '[::1/w',
    'ghcr.io/acme/w:tag',
    'w@sha256',
    'ü',
    'w w',
    'w\n',
    'w'.repeat(215),
  ])('%j is refused', (prefix) => {
    expect(() => parsePrefix(prefix)).toThrow(expect.objectContaining({ code: 'PREFIX_INVALID' }))
  })
})

test.each([
  ['Widgets', 'widgets'],
  ['.github', 'github'],
  ['My Proj__x.y-', 'my-proj-x-y'],
  ['日本語', 'repository'],
  ['_', 'repository'],
  [`${'a'.repeat(99)}-b`, 'a'.repeat(99)],
])('a repository called %s gives the prefix %s', (repository, prefix) => {
  expect(defaultPrefix(repository)).toBe(prefix)
  expect(parsePrefix(prefix).component).toBe(prefix)
})
