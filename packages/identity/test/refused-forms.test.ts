import {
  assertSha,
  assertTag,
  contentTemplateText,
  digestText,
  explainIdentity,
  formatTemplateRef,
  isWarmboxError,
  mountableTemplateId,
  parseCloneUrl,
  parseTemplateRef,
  repoTemplateName,
  repoTemplateRef,
  resolveResources,
  WarmboxError,
} from '@warmbox/identity'
import { describe, expect, test } from 'vitest'

const cloneUrl = 'https://h.example/o/r'
/** What a caller without types can pass. */
const call =
  (fn: (...args: never[]) => unknown, ...args: unknown[]) =>
  () =>
    Reflect.apply(fn, undefined, args)
const refused = (code: string, field: string) => expect.objectContaining({ code, field })

describe('an error names the input at fault', () => {
  test.each([
    ['a mountable identity that is none', call(mountableTemplateId, null), 'INPUT_TYPE', 'identity'],
    ['a content identity that is none', call(contentTemplateText, null), 'INPUT_TYPE', 'identity'],
    [
      'a namespace',
      () => formatTemplateRef({ namespace: 'a b', name: 'n', tag: undefined }),
      'NAME_INVALID',
      'namespace',
    ],
    ['a name', () => formatTemplateRef({ namespace: undefined, name: 'a b', tag: undefined }), 'NAME_INVALID', 'name'],
    [
      'the tag of a ref',
      () => formatTemplateRef({ namespace: undefined, name: 'n', tag: 'a b' }),
      'TAG_INVALID',
      'tag',
    ],
    ['a tag', () => assertTag('a b'), 'TAG_INVALID', 'tag'],
    ['a port with a letter', () => parseCloneUrl('https://h.example:80x/o/r'), 'CLONE_URL_PORT', 'cloneUrl'],
    [
      'a directory behind a space',
      () => repoTemplateName({ cloneUrl, workingDirectory: 'a b/c' }),
      'WORKING_DIRECTORY_INVALID',
      'workingDirectory',
    ],
    [
      'a relative directory',
      () => repoTemplateName({ cloneUrl, workingDirectory: 'home/user' }),
      'WORKING_DIRECTORY_INVALID',
      'workingDirectory',
    ],
  ])('%s', (_, act, code, field) => {
    expect(act).toThrow(refused(code, field))
  })

  test('an unknown field is named, a long one by its beginning', () => {
    const act = call(repoTemplateName, { cloneUrl, ['x'.repeat(100_000)]: 1 })
    expect(act).toThrow(refused('INPUT_UNKNOWN_FIELD', 'x'.repeat(64)))
  })
})

describe('an object whose content its own keys do not show is refused', () => {
  test.each([
    ['a Map', new Map([['A', 'b']])],
    ['a Set', new Set(['A'])],
    ['search parameters', new URLSearchParams('A=b')],
    ['a date', new Date(0)],
    ['an object that inherits', Object.create({ A: 'b' })],
    ['a list', ['A']],
  ])('%s', (_, entries) => {
    expect(call(repoTemplateName, { cloneUrl, buildEnv: entries })).toThrow(refused('INPUT_TYPE', 'buildEnv'))
    expect(call(repoTemplateName, { cloneUrl, extra: entries })).toThrow(refused('INPUT_TYPE', 'extra'))
    expect(call(repoTemplateName, entries)).toThrow(refused('INPUT_TYPE', 'identity'))
  })

  test('one without a prototype is as plain as any', () => {
    const buildEnv = Object.assign(Object.create(null), { A: 'b' })
    expect(repoTemplateName({ cloneUrl, buildEnv })).toBe(repoTemplateName({ cloneUrl, buildEnv: { A: 'b' } }))
  })
})

describe('arguments beside the identity are checked alike', () => {
  test.each([
    ['an unknown option', call(repoTemplateRef, { cloneUrl }, { prefx: 'a' }), 'INPUT_UNKNOWN_FIELD', 'prefx'],
    ['options that are none', call(repoTemplateRef, { cloneUrl }, 'mine'), 'INPUT_TYPE', 'options'],
    ['no options', call(repoTemplateRef, { cloneUrl }, null), 'INPUT_TYPE', 'options'],
    ['an unknown size', call(resolveResources, { cpucount: 4 }), 'INPUT_UNKNOWN_FIELD', 'cpucount'],
    ['no size', call(resolveResources), 'INPUT_TYPE', 'resources'],
    ['an unknown part of a ref', call(formatTemplateRef, { name: 'a', tagg: 'x' }), 'INPUT_UNKNOWN_FIELD', 'tagg'],
    ['no ref', call(formatTemplateRef, null), 'INPUT_TYPE', 'ref'],
    ['a text that is none', call(digestText, 0), 'INPUT_TYPE', 'text'],
    ['a hole among packages', call(mountableTemplateId, { aptPackages: Array(1) }), 'INPUT_TYPE', 'aptPackages'],
    [
      'an unknown part of a variable',
      call(repoTemplateName, { cloneUrl, buildEnv: { A: { value: 'v', version: '1', K: 1 } } }),
      'INPUT_UNKNOWN_FIELD',
      'buildEnv.A.K',
    ],
  ])('%s', (_, act, code, field) => {
    expect(act).toThrow(refused(code, field))
  })

  test('a bad name of a variable is told, as far as it can be shown', () => {
    expect(() => repoTemplateName({ cloneUrl, buildEnv: { 'a\nb-c': '' } })).toThrow(
      expect.objectContaining({ message: 'buildEnv has the invalid name "a\\nb-c"' }),
    )
  })
})

describe('a list that would read like the text asked for is refused', () => {
  test('as a commit id', () => {
    expect(call(assertSha, ['a'.repeat(40)])).toThrow(refused('SHA_INVALID', 'sha'))
  })

  test('as a Node.js version', () => {
    expect(call(mountableTemplateId, { nodeVersion: ['24.20.0'] })).toThrow(
      refused('NODE_VERSION_INVALID', 'nodeVersion'),
    )
  })
})

test('a ref without a tag is written without one, and a tag may begin with what would be a UUID', () => {
  expect(formatTemplateRef({ namespace: undefined, name: 'n', tag: undefined })).toBe('n')
  expect(parseTemplateRef(`n:${'a'.repeat(64)}`).tag).toBe('a'.repeat(64))
})

describe('what an identity leaves out is told as left out', () => {
  test('a directory that only one of two states is a difference, whichever it is', () => {
    const stated = { cloneUrl, workingDirectory: '/srv/app' }
    const difference = { field: 'workingDirectory', affects: 'name' }
    expect(explainIdentity(stated, { cloneUrl })).toEqual([
      { ...difference, before: '/srv/app', after: '/home/user/r' },
    ])
    expect(explainIdentity({ cloneUrl }, stated)).toEqual([
      { ...difference, before: '/home/user/r', after: '/srv/app' },
    ])
  })

  test('a salt that was added was not set before', () => {
    expect(explainIdentity({ cloneUrl }, { cloneUrl, salt: 'pepper' })).toEqual([
      { field: 'salt', affects: 'name', before: undefined, after: 'set' },
    ])
  })
})

test('an error without a cause has none, and null is no error', () => {
  expect('cause' in new WarmboxError({ code: 'X', message: 'x' })).toBe(false)
  expect(isWarmboxError(null)).toBe(false)
})
