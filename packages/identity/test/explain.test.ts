import { explainIdentity, mountableTemplateId, repoTemplateRef } from '@warmbox/identity'
import { test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { identities } from './arbitrary.ts'

const cloneUrl = 'https://github.com/acme/widgets.git'

describe('explainIdentity', () => {
  test('says nothing of inputs that mean the same', () => {
    expect(
      explainIdentity(
        { cloneUrl, setupCommand: 'make', buildEnv: { T: { value: 'old', version: '1' } } },
        {
          cloneUrl: 'https://GITHUB.com/acme/widgets',
          setupCommand: ['make', ''],
          buildEnv: { T: { value: 'new', version: '1' } },
          cpuCount: 2,
          workingDirectory: '/home/user/widgets/',
        },
      ),
    ).toEqual([])
  })

  test('lists exactly the fields that differ, in the order of the first text, defaults filled in', () => {
    expect(
      explainIdentity(
        { cloneUrl, sha: 'a'.repeat(40), cpuCount: 4, extra: { z: '1', a: '1' }, baseTemplateId: 'base' },
        {
          cloneUrl: 'https://github.com/acme/gadgets.git',
          setupCommand: ['make', 'make test'],
          memoryMB: 2048,
          submodules: true,
          lfs: true,
          baseTemplateId: 'base',
          extra: { z: '2', b: '1' },
        },
      ),
    ).toEqual([
      { field: 'sha', affects: 'tag', before: 'a'.repeat(40), after: undefined },
      {
        field: 'cloneUrl',
        affects: 'name',
        before: 'https://github.com/acme/widgets',
        after: 'https://github.com/acme/gadgets',
      },
      { field: 'cpuCount', affects: 'name', before: '4', after: '2' },
      { field: 'memoryMB', affects: 'name', before: '1024', after: '2048' },
      { field: 'submodules', affects: 'name', before: 'false', after: 'true' },
      { field: 'lfs', affects: 'name', before: 'false', after: 'true' },
      { field: 'extra.a', affects: 'name', before: '1', after: undefined },
      { field: 'extra.z', affects: 'name', before: '1', after: '2' },
      { field: 'setupCommand', affects: 'name', before: undefined, after: '["make","make test"]' },
      { field: 'extra.b', affects: 'name', before: undefined, after: '1' },
    ])
  })

  test('leaves out a default that only follows from another field, and shows it where one identity states it', () => {
    expect(explainIdentity({ cloneUrl }, { cloneUrl, cpuCount: 4 }).map(({ field }) => field)).toEqual(['cpuCount'])
    expect(explainIdentity({ cloneUrl }, { cloneUrl, workingDirectory: '/srv', baseTemplateId: 'base' })).toEqual([
      { field: 'workingDirectory', affects: 'name', before: '/home/user/widgets', after: '/srv' },
      { field: 'baseTemplateId', affects: 'name', before: mountableTemplateId(), after: 'base' },
    ])
  })

  test('shows of secrets their version, or that they are set or have changed', () => {
    const differences = explainIdentity(
      {
        cloneUrl,
        salt: 's3cr3t-1',
        buildEnv: {
          CHANGED: 's3cr3t-1',
          DROPPED: 's3cr3t-1',
          ROTATED: { value: 's3cr3t-1', version: 'v1' },
          VERSIONED: 's3cr3t-1',
          SAME: 's3cr3t-1',
        },
      },
      {
        cloneUrl,
        salt: 's3cr3t-2',
        buildEnv: {
          ADDED: 's3cr3t-2',
          CHANGED: 's3cr3t-2',
          ROTATED: { value: 's3cr3t-2', version: 'v2' },
          VERSIONED: { value: 's3cr3t-2', version: 'v1' },
          SAME: 's3cr3t-1',
        },
      },
    )
    expect(differences).toEqual([
      { field: 'buildEnv.CHANGED', affects: 'name', before: 'set', after: 'changed' },
      { field: 'buildEnv.DROPPED', affects: 'name', before: 'set', after: undefined },
      { field: 'buildEnv.ROTATED', affects: 'name', before: 'version v1', after: 'version v2' },
      { field: 'buildEnv.VERSIONED', affects: 'name', before: 'set', after: 'version v1' },
      { field: 'salt', affects: 'name', before: 'set', after: 'changed' },
      { field: 'buildEnv.ADDED', affects: 'name', before: undefined, after: 'set' },
    ])
    expect(JSON.stringify(differences)).not.toContain('s3cr3t')
  })

  test('tells a version from a value that reads the same', () => {
    expect(
      explainIdentity({ cloneUrl, buildEnv: { A: '1' } }, { cloneUrl, buildEnv: { A: { value: '1', version: '1' } } }),
    ).toEqual([{ field: 'buildEnv.A', affects: 'name', before: 'set', after: 'version 1' }])
  })

  test('refuses what has no ref', () => {
    expect(() => explainIdentity({ cloneUrl }, { cloneUrl, cpuCount: 3 })).toThrow(
      expect.objectContaining({ code: 'CPU_COUNT_INVALID' }),
    )
  })

  property.prop([identities, identities])('finds a difference exactly where the refs differ', (a, b) => {
    const differences = explainIdentity(a, b)
    expect(differences.length === 0).toBe(repoTemplateRef(a) === repoTemplateRef(b))
    expect(new Set(explainIdentity(b, a).map(({ field }) => field))).toEqual(
      new Set(differences.map(({ field }) => field)),
    )
    expect(explainIdentity(a, a)).toEqual([])
  })

  property.prop([identities])('shows neither a value nor a salt of any identity', (identity) => {
    const secret = {
      ...identity,
      salt: 'S3CR3T',
      buildEnv: { SECRET_A: 'S3CR3T', SECRET_B: { value: 'S3CR3T', version: 'v1' } },
    }
    const shown = JSON.stringify([explainIdentity(identity, secret), explainIdentity(secret, identity)])
    expect(shown).not.toContain('S3CR3T')
  })
})
