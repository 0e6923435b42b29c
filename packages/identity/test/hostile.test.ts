import {
  assertSha,
  assertTag,
  contentTemplateName,
  digestText,
  IdentityError,
  parseCloneUrl,
  parseTemplateRef,
  repoTemplateRef,
} from '@warmbox/identity'
import { describe, expect, test } from 'vitest'

/** Both an answer and a typed refusal will do; anything else that is thrown fails the test. */
const attempt = (work: () => unknown): void => {
  try {
    work()
  } catch (error) {
    if (!(error instanceof IdentityError)) throw error
  }
}

/** The least time of several tries, so that what else the machine does counts little. */
const leastTime = (work: () => void): number => {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < 15; round += 1) {
    const start = performance.now()
    for (let repeat = 0; repeat < 10; repeat += 1) work()
    least = Math.min(least, performance.now() - start)
  }
  return least
}

const cloneUrl = 'https://h.example/o/r'

const hostile: Readonly<Record<string, (length: number) => unknown>> = {
  'slashes at the end of a URL': (n) => parseCloneUrl(`${cloneUrl}${'/'.repeat(n)}`),
  'slashes inside a URL': (n) => parseCloneUrl(`https://h.example/o${'/'.repeat(n)}r`),
  'segments of a URL': (n) => parseCloneUrl(`https://h.example${'/a'.repeat(n / 2)}`),
  'dashes in a repository': (n) => parseCloneUrl(`https://h.example/o/${'-'.repeat(n)}`),
  'dots in a repository': (n) => parseCloneUrl(`https://h.example/o/a${'.'.repeat(n)}`),
  '.git again and again': (n) => parseCloneUrl(`${cloneUrl}${'.git'.repeat(n / 4)}`),
  'escapes of plain letters': (n) => parseCloneUrl(`https://h.example/o/${'%61'.repeat(n / 3)}`),
  'escapes of wide characters': (n) => parseCloneUrl(`https://h.example/o/${'%e2%98%83'.repeat(n / 9)}`),
  'characters no directory holds': (n) => parseCloneUrl(`https://h.example/o/${'a+'.repeat(n / 2)}`),
  'at signs': (n) => parseCloneUrl(`https://${'@'.repeat(n)}h.example/o/r`),
  'a user': (n) => parseCloneUrl(`https://${'u'.repeat(n)}@h.example/o/r`),
  'colons in the host': (n) => parseCloneUrl(`https://h${':'.repeat(n)}/o/r`),
  'labels of a host': (n) => parseCloneUrl(`https://${'a.'.repeat(n / 2)}b/o/r`),
  'dashes in a host': (n) => parseCloneUrl(`https://a${'-'.repeat(n)}/o/r`),
  brackets: (n) => parseCloneUrl(`https://${'['.repeat(n)}/o/r`),
  'groups of an IPv6 address': (n) => parseCloneUrl(`https://[${'0:'.repeat(n / 2)}]/o/r`),
  'digits of a port': (n) => parseCloneUrl(`https://h.example:${'1'.repeat(n)}/o/r`),
  'a scheme': (n) => parseCloneUrl(`${'a+'.repeat(n / 2)}://h/o/r`),
  'a host of the scp form': (n) => parseCloneUrl(`${'a.'.repeat(n / 2)}:o/r`),
  'an ssh URL without a path': (n) => parseCloneUrl(`ssh://${'a'.repeat(n)}`),
  'spaces around a ref': (n) => parseTemplateRef(`${' '.repeat(n / 2)}a${' '.repeat(n / 2)}`),
  'spaces inside a ref': (n) => parseTemplateRef(`a${' '.repeat(n)}a`),
  'slashes in a ref': (n) => parseTemplateRef('/'.repeat(n)),
  'colons in a ref': (n) => parseTemplateRef(`a${':'.repeat(n)}`),
  'a tag of dashes': (n) => assertTag('-'.repeat(n)),
  'a sha': (n) => assertSha('a'.repeat(n)),
  'slashes of a directory': (n) => repoTemplateRef({ cloneUrl, workingDirectory: `/a${'/'.repeat(n)}` }),
  'a blank command': (n) => repoTemplateRef({ cloneUrl, setupCommand: ' '.repeat(n) }),
  'an almost blank command': (n) => repoTemplateRef({ cloneUrl, setupCommand: `${' '.repeat(n)}a` }),
  'a wide command': (n) => repoTemplateRef({ cloneUrl, setupCommand: '😀'.repeat(n / 2) }),
  'a value of separators': (n) => repoTemplateRef({ cloneUrl, buildEnv: { A: ' 1:\n'.repeat(n / 4) } }),
  'a template': (n) => contentTemplateName({ template: 'é{'.repeat(n / 2), cpuCount: 2, memoryMB: 1024 }),
  'a text': (n) => digestText('~é'.repeat(n / 2)),
}

describe('hostile input', () => {
  test.each(Object.entries(hostile))('%s: 100000 characters get an answer or a typed refusal', (_, work) => {
    expect(() => attempt(() => work(100_000))).not.toThrow()
  })

  const SHORT = 96
  const FACTOR = 20

  test.each(Object.entries(hostile))('%s: cost grows no faster than length', (_, work) => {
    const short = leastTime(() => attempt(() => work(SHORT)))
    const long = leastTime(() => attempt(() => work(SHORT * FACTOR)))
    // Growing with the square would be 400 times; the margin is for a machine that is busy with other work.
    expect(long / short).toBeLessThan(FACTOR * 5)
  })
})
