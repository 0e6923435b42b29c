import {
  contentTemplateName,
  contentTemplateText,
  DEFAULT_APT_PACKAGES,
  DEFAULT_CPU_COUNT,
  DEFAULT_MEMORY_MB,
  DEFAULT_NODE_VERSION,
  digestText,
  IDENTITY_SCHEME,
  MOUNTABLE_TEMPLATE_VERSION,
  mountableTemplateId,
  mountableTemplateText,
  resolveResources,
} from '@warmbox/identity'
import { describe, expect, test } from 'vitest'

test('the constants other parts and other tools build on', () => {
  expect({
    DEFAULT_CPU_COUNT,
    DEFAULT_MEMORY_MB,
    DEFAULT_NODE_VERSION,
    DEFAULT_APT_PACKAGES,
    MOUNTABLE_TEMPLATE_VERSION,
    IDENTITY_SCHEME,
  }).toEqual({
    DEFAULT_CPU_COUNT: 2,
    DEFAULT_MEMORY_MB: 1024,
    DEFAULT_NODE_VERSION: '24.20.0',
    DEFAULT_APT_PACKAGES: ['fuse', 's3fs'],
    MOUNTABLE_TEMPLATE_VERSION: 'v3',
    IDENTITY_SCHEME: 1,
  })
})

describe('mountableTemplateId', () => {
  test('is the digest of its text behind mastra-', () => {
    expect(mountableTemplateText()).toBe(
      'warmbox-identity 1 mountable\nversion 2:v3\nnodeVersion 7:24.20.0\ncpuCount 1:2\nmemoryMB 4:1024\naptPackage 4:fuse\naptPackage 4:s3fs\n',
    )
    expect(mountableTemplateId()).toBe(`mastra-${digestText(mountableTemplateText()).slice(0, 40)}`)
  })

  test('treats absent and default, order and repetition alike', () => {
    expect(
      mountableTemplateId({
        nodeVersion: '24.20.0',
        cpuCount: 2,
        memoryMB: 1024,
        aptPackages: ['s3fs', 'fuse', 's3fs'],
      }),
    ).toBe(mountableTemplateId())
  })

  test('differs with every field', () => {
    const ids = [
      {},
      { nodeVersion: '22.20.0' },
      { cpuCount: 4 },
      { memoryMB: 2048 },
      { aptPackages: ['fuse'] },
      { aptPackages: [] },
      { aptPackages: ['fuse', 's3fs=1.90-1+b2'] },
    ].map(mountableTemplateId)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test.each(['0.0.0', '0.12.18', '24.0.0', '24.0.1', '10.10.10', '99999.99999.99999'])(
    'takes Node.js %s',
    (nodeVersion) => {
      expect(mountableTemplateText({ nodeVersion })).toContain(`nodeVersion ${nodeVersion.length}:${nodeVersion}\n`)
    },
  )

  test.each([
    '',
    '24.20',
    '00.20.0',
    '24.00.0',
    '24..0',
    '.20.0',
    '24.20.',
    '123456.20.0',
    '24.123456.0',
    '24x20.0',
    '24.20x0',
    '24.20.0x',
    '-1.20.0',
    '24.+2.0',
    '24.20.1e1',
    '24.20.0x0',
    ' 24.20.0',
    '24.20.0 ',
    '２４.20.0',
    '٢٤.20.0',
  ])('refuses Node.js %j', (nodeVersion) => {
    expect(() => mountableTemplateId({ nodeVersion })).toThrow(
      expect.objectContaining({ code: 'NODE_VERSION_INVALID', field: 'nodeVersion' }),
    )
  })

  test.each([
    [{ nodeVersion: '24' }, 'NODE_VERSION_INVALID', 'nodeVersion'],
    [{ nodeVersion: 'lts' }, 'NODE_VERSION_INVALID', 'nodeVersion'],
    [{ nodeVersion: 'v24.20.0' }, 'NODE_VERSION_INVALID', 'nodeVersion'],
    [{ nodeVersion: '24.20.00' }, 'NODE_VERSION_INVALID', 'nodeVersion'],
    [{ nodeVersion: '024.20.0' }, 'NODE_VERSION_INVALID', 'nodeVersion'],
    [{ nodeVersion: '24.020.0' }, 'NODE_VERSION_INVALID', 'nodeVersion'],
    [{ nodeVersion: '24.20.0.1' }, 'NODE_VERSION_INVALID', 'nodeVersion'],
    [{ nodeVersion: '24.20.123456' }, 'NODE_VERSION_INVALID', 'nodeVersion'],
    [{ nodeVersion: '24.20.0-rc.1' }, 'NODE_VERSION_INVALID', 'nodeVersion'],
    [{ nodeVersion: '24.20.0\n' }, 'NODE_VERSION_INVALID', 'nodeVersion'],
    [{ nodeVersion: 24 }, 'NODE_VERSION_INVALID', 'nodeVersion'],
    [{ aptPackages: 'fuse' }, 'INPUT_TYPE', 'aptPackages'],
    [{ aptPackages: [1] }, 'INPUT_TYPE', 'aptPackages'],
    [{ aptPackages: ['Fuse'] }, 'APT_PACKAGE_INVALID', 'aptPackages'],
    [{ aptPackages: ['-y'] }, 'APT_PACKAGE_INVALID', 'aptPackages'],
    [{ aptPackages: ['fuse; id'] }, 'APT_PACKAGE_INVALID', 'aptPackages'],
    [{ aptPackages: ['fuse='] }, 'APT_PACKAGE_INVALID', 'aptPackages'],
    [{ aptPackages: ['f'.repeat(257)] }, 'INPUT_TOO_LONG', 'aptPackages'],
    [{ aptPackages: Array.from({ length: 257 }, () => 'fuse') }, 'INPUT_TOO_MANY', 'aptPackages'],
    [{ cpuCount: 3 }, 'CPU_COUNT_INVALID', 'cpuCount'],
    [{ memory: 1024 }, 'INPUT_UNKNOWN_FIELD', 'memory'],
  ])('refuses %o', (identity, code, field) => {
    expect(() => Reflect.apply(mountableTemplateId, undefined, [identity])).toThrow(
      expect.objectContaining({ code, field }),
    )
  })
})

describe('contentTemplateName', () => {
  const input = { template: '{"steps":[]}', cpuCount: 2, memoryMB: 1024 }

  test('is the digest of its text behind mastra-', () => {
    expect(contentTemplateText(input)).toBe(
      'warmbox-identity 1 content\ncpuCount 1:2\nmemoryMB 4:1024\ntemplate 12:{"steps":[]}\n',
    )
    expect(contentTemplateName(input)).toBe(`mastra-${digestText(contentTemplateText(input)).slice(0, 40)}`)
  })

  test('differs with every field', () => {
    const names = [input, { ...input, template: '{}' }, { ...input, cpuCount: 4 }, { ...input, memoryMB: 2048 }].map(
      contentTemplateName,
    )
    expect(new Set(names).size).toBe(4)
  })

  test.each([
    [{ ...input, template: undefined }, 'INPUT_TYPE', 'template'],
    [{ ...input, template: '\0' }, 'INPUT_CHARACTER', 'template'],
    [{ ...input, template: 'x'.repeat(4_194_305) }, 'INPUT_TOO_LONG', 'template'],
    [{ ...input, memoryMB: 1 }, 'MEMORY_INVALID', 'memoryMB'],
    [{ ...input, name: 'x' }, 'INPUT_UNKNOWN_FIELD', 'name'],
    [undefined, 'INPUT_TYPE', 'identity'],
  ])('refuses what it cannot name (%#)', (given, code, field) => {
    expect(() => Reflect.apply(contentTemplateName, undefined, [given])).toThrow(
      expect.objectContaining({ code, field }),
    )
  })
})

describe('resolveResources', () => {
  test('fills in the defaults and takes the smallest and largest size', () => {
    expect(resolveResources({})).toEqual({ cpuCount: 2, memoryMB: 1024 })
    expect(resolveResources({ cpuCount: 1, memoryMB: 128 })).toEqual({ cpuCount: 1, memoryMB: 128 })
    expect(resolveResources({ cpuCount: 32, memoryMB: 1_048_576 })).toEqual({ cpuCount: 32, memoryMB: 1_048_576 })
  })
})

describe('digestText', () => {
  test.each([
    ['', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
    ['abc', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
  ])('gives the published SHA-256 of %j', (text, digest) => {
    expect(digestText(text)).toBe(digest)
  })

  test('hashes a long text of wide characters like the platform does', async () => {
    const text = '😀é～a'.repeat(5000)
    const platform = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
    expect(digestText(text)).toBe(Buffer.from(platform).toString('hex'))
  })

  test('refuses half a surrogate pair', () => {
    expect(() => digestText('\uD83D')).toThrow(expect.objectContaining({ code: 'INPUT_CHARACTER', field: 'text' }))
  })
})
