import {
  DEFAULT_APT_PACKAGES,
  DEFAULT_CPU_COUNT,
  DEFAULT_MEMORY_MB,
  DEFAULT_NODE_VERSION,
  digestText,
  IDENTITY_SCHEME,
  MOUNTABLE_TEMPLATE_VERSION,
} from '@warmbox/identity'
import { describe, expect, test } from 'vitest'
import { announces, isOfThisPackage, readAnnouncements } from './announcements.ts'
import { readVectors, type Vectors } from './vectors.ts'

const vectors = await readVectors()

/**
 * Digests of the vectors, once for the inputs that say everything themselves, and once for those that lean on defaults. A
 * vector that changes renames somebody's template. It may only do so together with its key: a new scheme, or a new default.
 * Then write "templates rebuild (<key>)" into a changeset of this package, run `pnpm vectors`, and pin the new digest
 * under the new key. To add a vector, replace the digest under the same key, having seen that nothing but the addition changed.
 */
const frozen: Readonly<Record<string, string>> = {
  'scheme 1': 'b1e2350849fddab254033c4a8782b3dc0fda3a2c3122f0eea107762b059b1f71',
  'scheme 1, defaults 2 1024 v3 24.20.0 fuse,s3fs': '2f938fb7b861594be6c3514e9ef7c63bff6b1f410f19208142e35dcac7f1872e',
}

/** The keys of the first release, which renamed nothing. */
const first: readonly string[] = ['scheme 1', 'scheme 1, defaults 2 1024 v3 24.20.0 fuse,s3fs']

const explicit = ({ identity }: Vectors['repo'][number]): boolean =>
  identity.cpuCount !== undefined && identity.memoryMB !== undefined && identity.baseTemplateId !== undefined

const defaults = [
  DEFAULT_CPU_COUNT,
  DEFAULT_MEMORY_MB,
  MOUNTABLE_TEMPLATE_VERSION,
  DEFAULT_NODE_VERSION,
  DEFAULT_APT_PACKAGES.join(),
].join(' ')

const digestOf = (value: unknown): string => digestText(JSON.stringify(value))

describe('a changed vector needs a new scheme or a new default', () => {
  test('vectors that say everything themselves', () => {
    const stable = [vectors.repo.filter(explicit), vectors.content, vectors.cloneUrls, vectors.refused]
    expect(digestOf(stable)).toBe(frozen[`scheme ${IDENTITY_SCHEME}`])
  })

  test('vectors that lean on defaults', () => {
    const leaning = [vectors.repo.filter((vector) => !explicit(vector)), vectors.mountable]
    expect(digestOf(leaning)).toBe(frozen[`scheme ${IDENTITY_SCHEME}, defaults ${defaults}`])
  })
})

describe('a new scheme or a new default needs an announcement that says "templates rebuild"', () => {
  test('every one there has been since the first release was announced, or will be by a changeset', async () => {
    const announcements = await readAnnouncements()
    expect(announcements.some((text) => text.includes('SCHEME.md'))).toBe(true)
    const renaming = Object.keys(frozen).filter((key) => !first.includes(key))
    expect(renaming.filter((key) => !announces(announcements, key))).toEqual([])
  })

  test.each([
    ['in a changeset, however it is wrapped', ['Templates\nrebuild (scheme 2): ...'], true],
    ['in the changelog', ['# @warmbox/identity\n\n## 2.0.0\n\n- abc: **Templates rebuild (scheme 2)**'], true],
    ['of another scheme', ['templates rebuild (scheme 3)'], false],
    ['of a default only', ['templates rebuild (scheme 2, defaults 2 1024 v3 24.20.0 fuse)'], false],
    ['without the words', ['scheme 2 is new'], false],
    ['apart from the key', ['templates rebuild', '(scheme 2)'], false],
    ['nowhere', [], false],
  ])('an announcement %s', (_where, texts, expected) => {
    expect(announces(texts, 'scheme 2')).toBe(expected)
  })

  test.each([
    ["---\n'@warmbox/identity': major\n---\n\nx\n", true],
    ["---\n'@warmbox/sandbox': minor\n\"@warmbox/identity\": minor\n'@warmbox/x': minor\n---\n\nx\n", true],
    ["---\n'@warmbox/sandbox': minor\n---\n\n'@warmbox/identity': major\n---\n", false],
    ['@warmbox/identity: templates rebuild\n', false],
  ])('only a changeset of this package reaches its changelog (%#)', (changeset, expected) => {
    expect(isOfThisPackage(changeset)).toBe(expected)
  })
})
