import { expect, test } from 'vitest'

import { resolveOptions, UsageError } from '../src/options.ts'

test('without arguments the walk takes its own history on the emulator', () => {
  expect(resolveOptions([], {})).toEqual({
    repository: { kind: 'own' },
    repositoryToken: undefined,
    json: false,
    platform: 'emulator',
  })
})

test('a path and an https URL are told apart, and a bare user is dropped from the URL', () => {
  expect(resolveOptions(['--repo', '../widgets'], {})).toMatchObject({
    repository: { kind: 'path', path: '../widgets' },
  })
  expect(resolveOptions(['--repo', 'https://git@localhost:4443/acme/widgets.git'], {})).toMatchObject({
    repository: { kind: 'url', url: 'https://localhost:4443/acme/widgets.git' },
  })
})

test('a separator that pnpm hands on is no argument', () => {
  expect(resolveOptions(['--', '--json'], {})).toMatchObject({ json: true })
})

test('an ssh or http URL is refused with a code before anything is started', () => {
  for (const url of [
    'ssh://git@localhost/acme/widgets.git',
    'git@localhost:acme/widgets.git',
    'http://localhost/acme/widgets.git',
  ])
    expect(() => resolveOptions(['--repo', url], {})).toThrow(
      expect.objectContaining({ name: 'IdentityError', code: expect.any(String), hint: expect.any(String) }),
    )
})

test('E2B itself needs a key and a repository it can reach', () => {
  expect(() => resolveOptions(['--e2b'], { E2B_API_KEY: 'e2b_x' })).toThrow(UsageError)
  expect(() => resolveOptions(['--e2b', '--repo', 'https://localhost/acme/widgets.git'], {})).toThrow(UsageError)
  expect(
    resolveOptions(['--e2b', '--repo', 'https://localhost/acme/widgets.git'], { E2B_API_KEY: 'e2b_x' }),
  ).toMatchObject({ platform: 'e2b' })
})

test('an unknown flag is refused, and the refusal shows the usage', () => {
  expect(() => resolveOptions(['--jsn'], {})).toThrow(/Usage: pnpm demo/)
})
