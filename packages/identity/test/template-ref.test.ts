import { assertSha, assertTag, formatTemplateRef, parseTemplateRef } from '@warmbox/identity'
import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'

describe('parseTemplateRef', () => {
  test.each([
    ['widgets', { namespace: undefined, name: 'widgets', tag: undefined }],
    ['widgets:v1.2', { namespace: undefined, name: 'widgets', tag: 'v1.2' }],
    ['Acme/Widgets_2:Current', { namespace: 'acme', name: 'widgets_2', tag: 'current' }],
    [' acme / widgets : current ', { namespace: 'acme', name: 'widgets', tag: 'current' }],
    ['a:default', { namespace: undefined, name: 'a', tag: 'default' }],
    [`${'n'.repeat(128)}:${'t'.repeat(128)}`, { namespace: undefined, name: 'n'.repeat(128), tag: 't'.repeat(128) }],
  ])('splits and folds %j', (ref, expected) => {
    expect(parseTemplateRef(ref)).toEqual(expected)
  })

  test.each([
    ['', 'NAME_INVALID'],
    [':tag', 'NAME_INVALID'],
    ['name:', 'TAG_INVALID'],
    ['name: ', 'TAG_INVALID'],
    ['/name', 'NAME_INVALID'],
    ['ns/', 'NAME_INVALID'],
    ['a/b/c', 'REF_INVALID'],
    ['na.me', 'NAME_INVALID'],
    ['näme', 'NAME_INVALID'],
    ['\u212Aelvin', 'NAME_INVALID'],
    ['name:a:b', 'TAG_INVALID'],
    ['name:a/b', 'TAG_INVALID'],
    ['name:a+b', 'TAG_INVALID'],
    ['na me', 'NAME_INVALID'],
    ['n'.repeat(129), 'NAME_INVALID'],
    [`n:${'t'.repeat(129)}`, 'TAG_INVALID'],
    ['n:d41d8cd98f00b204e9800998ecf8427e', 'TAG_INVALID'],
    ['n:123E4567-e89b-12d3-a456-426614174000', 'TAG_INVALID'],
  ])('refuses %j as %s', (ref, code) => {
    expect(() => parseTemplateRef(ref)).toThrow(expect.objectContaining({ code }))
  })

  test('refuses what is not a string', () => {
    expect(() => Reflect.apply(parseTemplateRef, undefined, [undefined])).toThrow(
      expect.objectContaining({ code: 'INPUT_TYPE', field: 'ref' }),
    )
  })

  const name = fc.stringMatching(/^[A-Za-z0-9_-]{1,128}$/)
  const tag = fc.stringMatching(/^[A-Za-z0-9_.-]{1,20}$/)
  property.prop([fc.option(name, { nil: undefined }), name, fc.option(tag, { nil: undefined })])(
    'reads back what formatTemplateRef wrote, and folds only once',
    (namespace, plainName, plainTag) => {
      const text = formatTemplateRef({ namespace, name: plainName, tag: plainTag })
      expect(formatTemplateRef(parseTemplateRef(text))).toBe(text)
      expect(text).toBe(text.toLowerCase())
    },
  )
})

describe('formatTemplateRef', () => {
  test.each([
    [{ namespace: undefined, name: 'a/b', tag: undefined }, 'NAME_INVALID'],
    [{ namespace: 'a:b', name: 'c', tag: undefined }, 'NAME_INVALID'],
    [{ namespace: undefined, name: 'a', tag: '' }, 'TAG_INVALID'],
  ])('refuses a part that would read as two: %o', (ref, code) => {
    expect(() => formatTemplateRef(ref)).toThrow(expect.objectContaining({ code }))
  })
})

describe('assertTag', () => {
  test('takes a sha behind a word, however long', () => {
    expect(assertTag(`sha-${'A'.repeat(64)}`)).toBe(`sha-${'a'.repeat(64)}`)
    expect(assertTag('d41d8cd98f00b204e9800998ecf8427')).toBe('d41d8cd98f00b204e9800998ecf8427')
  })
})

describe('assertSha', () => {
  test.each(['a'.repeat(40), 'A'.repeat(40), 'b'.repeat(64)])('takes %s in lower case', (sha) => {
    expect(assertSha(sha)).toBe(sha.toLowerCase())
  })

  test.each([
    '',
    ' ',
    'abc123',
    'a'.repeat(39),
    'a'.repeat(41),
    'a'.repeat(63),
    'a'.repeat(65),
    'g'.repeat(40),
    `${'a'.repeat(40)}\n`,
  ])('refuses %j', (sha) => {
    expect(() => assertSha(sha)).toThrow(expect.objectContaining({ code: 'SHA_INVALID', field: 'sha' }))
  })
})
