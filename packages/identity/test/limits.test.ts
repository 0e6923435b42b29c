import {
  canonicalText,
  contentTemplateText,
  mountableTemplateText,
  parseCloneUrl,
  repoTemplateName,
} from '@warmbox/identity'
import { describe, expect, test } from 'vitest'

const cloneUrl = 'https://h.example/o/r'
const manyEntries = Object.fromEntries(Array.from({ length: 256 }, (_, index) => [`A${index}`, '']))

describe('the largest input of each kind is taken', () => {
  test.each([
    ['a URL', { cloneUrl: `${cloneUrl}${'/'.repeat(2048 - cloneUrl.length)}` }],
    ['a command', { cloneUrl, setupCommand: 'a'.repeat(32_768) }],
    ['commands', { cloneUrl, setupCommand: Array.from({ length: 256 }, () => 'a') }],
    ['variables', { cloneUrl, buildEnv: manyEntries }],
    ["a variable's name", { cloneUrl, buildEnv: { ['A'.repeat(256)]: '' } }],
    ["a variable's value", { cloneUrl, buildEnv: { A: 'a'.repeat(32_768) } }],
    ["a variable's version", { cloneUrl, buildEnv: { A: { value: 'a'.repeat(32_768), version: 'v'.repeat(256) } } }],
    ['a directory', { cloneUrl, workingDirectory: `/${'a'.repeat(1023)}` }],
    ['a salt', { cloneUrl, salt: 's'.repeat(1024) }],
    ['extra inputs', { cloneUrl, extra: manyEntries }],
    ['an extra input', { cloneUrl, extra: { ['k'.repeat(256)]: 'v'.repeat(32_768) } }],
    ['a base', { cloneUrl, baseTemplateId: `${'n'.repeat(128)}/${'b'.repeat(128)}:${'t'.repeat(128)}` }],
    ['a size', { cloneUrl, cpuCount: 32, memoryMB: 1_048_576 }],
  ])('%s', (_, identity) => {
    expect(repoTemplateName(identity)).toMatch(/^mastra-repo-[0-9a-f]{40}$/)
  })

  test('packages', () => {
    const aptPackages = Array.from({ length: 256 }, (_, index) => `p${index}`.padEnd(256, 'a'))
    expect(mountableTemplateText({ aptPackages }).split('\n')).toHaveLength(5 + 256 + 1)
  })

  test('a template', () => {
    expect(contentTemplateText({ template: 'x'.repeat(4_194_304), cpuCount: 2, memoryMB: 1024 })).toContain(
      ' 4194304:x',
    )
  })

  test('a host of 253 characters, of labels of 63', () => {
    const host = `${`${'a'.repeat(63)}.`.repeat(3)}${'b'.repeat(61)}`
    expect(host).toHaveLength(253)
    expect(parseCloneUrl(`https://${host}/o/r`).host).toBe(host)
    expect(() => parseCloneUrl(`https://${host}b/o/r`)).toThrow(expect.objectContaining({ code: 'CLONE_URL_HOST' }))
  })

  test('a port', () => {
    expect(parseCloneUrl('https://h.example:65535/o/r').port).toBe(65_535)
    expect(parseCloneUrl('https://h.example:1/o/r').port).toBe(1)
  })
})

test.each([
  '\u00A0',
  '\u07FF',
  '\u0800',
  '\uD7FF',
  '\uE000',
  '\uFFFF',
  '\u{10000}',
  '\u{103FF}',
  '\u{10FC00}',
  '\u{10FFFF}',
])('the length of %j is that of its bytes', (character) => {
  const salt = `${character}x`
  expect(canonicalText({ cloneUrl, salt })).toContain(`\nsalt ${Buffer.byteLength(salt)}:${salt}\n`)
})
