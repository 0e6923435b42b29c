import { IDENTITY_SCHEME } from '@warmbox/identity'
import { describe, expect, test } from 'vitest'
import { cloneUrlVector, contentVector, mountableVector, readVectors, refusedVector, repoVector } from './vectors.ts'

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
