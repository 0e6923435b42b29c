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
import {
  cloneUrlVector,
  contentVector,
  mountableVector,
  readVectors,
  refusedVector,
  repoVector,
  type Vectors,
} from './vectors.ts'

const vectors = await readVectors()

describe('vectors.json', () => {
  test.each(vectors.repo)('repo: $name', (vector) => {
    expect(repoVector(vector)).toEqual(vector)
  })
  test.each(vectors.mountable)('mountable: $name', (vector) => {
    expect(mountableVector(vector)).toEqual(vector)
  })
  test.each(vectors.content)('content: $name', (vector) => {
    expect(contentVector(vector)).toEqual(vector)
  })
  test.each(vectors.cloneUrls)('clone URL: $url', (vector) => {
    expect(cloneUrlVector(vector)).toEqual(vector)
  })
  test.each(vectors.refused)('refused: $name', (vector) => {
    expect(refusedVector(vector)).toEqual(vector)
  })

  test('is of this scheme, and large enough to reproduce it from', () => {
    expect(vectors.scheme).toBe(IDENTITY_SCHEME)
    expect(vectors.repo.length).toBeGreaterThanOrEqual(60)
    expect(new Set(vectors.repo.map(({ name }) => name)).size).toBe(vectors.repo.length)
  })

  test('names every field of an identity', () => {
    expect([...new Set(vectors.repo.flatMap(({ identity }) => Object.keys(identity)))].toSorted()).toEqual([
      'baseTemplateId',
      'buildEnv',
      'cloneUrl',
      'cpuCount',
      'extra',
      'lfs',
      'memoryMB',
      'salt',
      'setupCommand',
      'sha',
      'submodules',
      'workingDirectory',
    ])
  })
})

/**
 * Digests of the vectors, once for the inputs that say everything themselves, and once for those that lean on defaults. A
 * vector that changes renames somebody's template. It may only do so together with its key: a new scheme, or a new default.
 * Then write "templates rebuild" into the changeset, run `pnpm vectors`, and pin the new digest under the new key. To add a
 * vector, replace the digest under the same key, having seen that nothing but the addition changed.
 */
const frozen: Readonly<Record<string, string>> = {
  'scheme 1': 'b1e2350849fddab254033c4a8782b3dc0fda3a2c3122f0eea107762b059b1f71',
  'scheme 1, defaults 2 1024 v3 24.20.0 fuse,s3fs': '2f938fb7b861594be6c3514e9ef7c63bff6b1f410f19208142e35dcac7f1872e',
}

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

describe('a changed vector needs a new scheme or a new default, and a changeset that says "templates rebuild"', () => {
  test('vectors that say everything themselves', () => {
    const stable = [vectors.repo.filter(explicit), vectors.content, vectors.cloneUrls, vectors.refused]
    expect(digestOf(stable)).toBe(frozen[`scheme ${IDENTITY_SCHEME}`])
  })

  test('vectors that lean on defaults', () => {
    const leaning = [vectors.repo.filter((vector) => !explicit(vector)), vectors.mountable]
    expect(digestOf(leaning)).toBe(frozen[`scheme ${IDENTITY_SCHEME}, defaults ${defaults}`])
  })
})
