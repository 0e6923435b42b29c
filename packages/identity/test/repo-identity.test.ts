import {
  canonicalText,
  digestText,
  IdentityError,
  mountableTemplateId,
  type RepoTemplateIdentity,
  repoTemplateName,
  repoTemplateRef,
} from '@warmbox/identity'
import { describe, expect, test } from 'vitest'

const cloneUrl = 'https://github.com/acme/widgets.git'
const sha = '3f786850e387550fdab836ed7e6dc881de23001b'

describe('repoTemplateRef', () => {
  test('names the template by its inputs and the build by its commit', () => {
    expect(repoTemplateRef({ cloneUrl, sha })).toMatch(
      /^mastra-repo-[0-9a-f]{40}:sha-3f786850e387550fdab836ed7e6dc881de23001b$/,
    )
    expect(repoTemplateRef({ cloneUrl })).toBe(`${repoTemplateName({ cloneUrl })}:current`)
  })

  test('puts the digest of the canonical text into the name', () => {
    expect(repoTemplateName({ cloneUrl })).toBe(`mastra-repo-${digestText(canonicalText({ cloneUrl })).slice(0, 40)}`)
  })

  test('takes another prefix in place of mastra-repo', () => {
    const hash = repoTemplateName({ cloneUrl }).slice('mastra-repo-'.length)
    expect(repoTemplateName({ cloneUrl }, { prefix: 'CI' })).toBe(`ci-${hash}`)
    expect(repoTemplateName({ cloneUrl }, { prefix: 'p'.repeat(87) })).toHaveLength(128)
  })

  test.each(['', 'a.b', 'a/b', 'a:b', 'p'.repeat(88), 'ü'])('refuses the prefix %j', (prefix) => {
    expect(() => repoTemplateName({ cloneUrl }, { prefix })).toThrow(
      expect.objectContaining({ code: 'NAME_INVALID', field: 'prefix' }),
    )
  })
})

describe('canonicalText', () => {
  test('writes every field with its length, defaults included', () => {
    expect(canonicalText({ cloneUrl })).toBe(
      'warmbox-identity 1 repo\n' +
        'cloneUrl 31:https://github.com/acme/widgets\n' +
        'cpuCount 1:2\n' +
        'memoryMB 4:1024\n' +
        'workingDirectory 18:/home/user/widgets\n' +
        'submodules 5:false\n' +
        'lfs 5:false\n' +
        `baseTemplateId 47:${mountableTemplateId()}\n` +
        'salt 0:\n',
    )
  })

  test('counts bytes, orders entries, and writes a version in place of its value', () => {
    const text = canonicalText({
      cloneUrl,
      setupCommand: ['pnpm install', '', 'echo "ü😀"\nexit'],
      buildEnv: { b: { value: 'secret', version: 'v1' }, A: 'x y' },
      extra: { '\u{1F600}': '1', '\uFF5E': '2', é: '3' },
    })
    expect(text).toContain(
      'setupCommand 12:pnpm install\nsetupCommand 18:echo "ü😀"\nexit\nbuildEnv 1:A 5:value 3:x y\nbuildEnv 1:b 7:version 2:v1\n',
    )
    expect(text).toMatch(/extra 2:é 1:3\nextra 4:😀 1:1\nextra 3:～ 1:2\n$/)
    expect(text).not.toContain('secret')
  })
})

describe('inputs that do not change what is built', () => {
  const name = repoTemplateName({ cloneUrl })
  const same: Readonly<Record<string, RepoTemplateIdentity>> = {
    'a commit': { cloneUrl, sha },
    'no .git': { cloneUrl: 'https://github.com/acme/widgets' },
    'the host in capitals, its default port and a user': { cloneUrl: 'https://user@GITHUB.com:443/acme/widgets/' },
    'blank setup commands': { cloneUrl, setupCommand: ['', ' \t\r\n'] },
    'an empty setup command': { cloneUrl, setupCommand: '' },
    'an empty environment': { cloneUrl, buildEnv: {} },
    'the default size': { cloneUrl, cpuCount: 2, memoryMB: 1024 },
    'the default directory': { cloneUrl, workingDirectory: '/home//user/widgets/' },
    'flags that are off': { cloneUrl, submodules: false, lfs: false },
    'the default base': { cloneUrl, baseTemplateId: mountableTemplateId().toUpperCase() },
    'no salt and nothing extra': { cloneUrl, salt: '', extra: {} },
    'every field undefined': {
      cloneUrl,
      sha: undefined,
      setupCommand: undefined,
      buildEnv: undefined,
      cpuCount: undefined,
      memoryMB: undefined,
      workingDirectory: undefined,
      submodules: undefined,
      lfs: undefined,
      baseTemplateId: undefined,
      salt: undefined,
      extra: undefined,
    },
  }
  test.each(Object.entries(same))('%s', (_, identity) => {
    expect(repoTemplateName(identity)).toBe(name)
  })

  test('the default base is the one at the same size', () => {
    const size = { cpuCount: 4, memoryMB: 2048 }
    expect(repoTemplateName({ cloneUrl, ...size })).toBe(
      repoTemplateName({ cloneUrl, ...size, baseTemplateId: mountableTemplateId(size) }),
    )
    expect(repoTemplateName({ cloneUrl })).toBe(name)
  })

  test('one setup command is a list of one', () => {
    expect(repoTemplateName({ cloneUrl, setupCommand: 'make' })).toBe(
      repoTemplateName({ cloneUrl, setupCommand: ['', 'make'] }),
    )
  })

  test('a rotated value of one version', () => {
    const [old, rotated] = ['old', 'new'].map((value) =>
      repoTemplateName({ cloneUrl, buildEnv: { T: { value, version: '1' } } }),
    )
    expect(rotated).toBe(old)
  })
})

describe('inputs that change what is built', () => {
  const base: RepoTemplateIdentity = { cloneUrl, setupCommand: ['a', 'b'], buildEnv: { A: '1' }, extra: { k: 'v' } }
  const different: Readonly<Record<string, RepoTemplateIdentity>> = {
    'another repository': { ...base, cloneUrl: 'https://github.com/acme/gadgets.git' },
    'another host': { ...base, cloneUrl: 'https://gitlab.com/acme/widgets.git' },
    'another port': { ...base, cloneUrl: 'https://github.com:8443/acme/widgets.git' },
    'the path in another case': { ...base, cloneUrl: 'https://github.com/Acme/widgets.git' },
    'another group of the same name': { ...base, cloneUrl: 'https://github.com/x/acme/widgets.git' },
    'setup commands in another order': { ...base, setupCommand: ['b', 'a'] },
    'setup commands joined': { ...base, setupCommand: 'a\nb' },
    'a setup command less': { ...base, setupCommand: 'a' },
    'a space in a setup command': { ...base, setupCommand: ['a', 'b '] },
    'another value': { ...base, buildEnv: { A: '2' } },
    'another variable': { ...base, buildEnv: { B: '1' } },
    'an empty variable more': { ...base, buildEnv: { A: '1', B: '' } },
    'a version that reads like the value': { ...base, buildEnv: { A: { value: '1', version: '1' } } },
    'another version': { ...base, buildEnv: { A: { value: '1', version: '2' } } },
    'a value that looks like the next line': { ...base, buildEnv: { A: '1\nbuildEnv 1:B 5:value 0:' } },
    'more processors': { ...base, cpuCount: 4 },
    'more memory': { ...base, memoryMB: 2048 },
    'another directory': { ...base, workingDirectory: '/srv/widgets' },
    submodules: { ...base, submodules: true },
    lfs: { ...base, lfs: true },
    'another base': { ...base, baseTemplateId: 'mastra-other' },
    'a tag on the base': { ...base, baseTemplateId: 'mastra-other:v1' },
    salt: { ...base, salt: 'tenant' },
    'another key': { ...base, extra: { j: 'v' } },
    'another extra': { ...base, extra: { k: 'w' } },
    'key and value cut elsewhere': { ...base, extra: { kv: '' } },
  }
  test.each(Object.entries(different))('%s', (_, identity) => {
    expect(repoTemplateName(identity)).not.toBe(repoTemplateName(base))
  })

  test('no two of these share a name', () => {
    const names = new Set(Object.values(different).map((identity) => repoTemplateName(identity)))
    expect(names.size).toBe(Object.keys(different).length)
  })
})

describe('inputs that are refused', () => {
  const refused: readonly (readonly [
    why: string,
    fields: Readonly<Record<string, unknown>>,
    code: string,
    field: string,
  ])[] = [
    ['an empty sha', { sha: '' }, 'SHA_INVALID', 'sha'],
    ['a number for a command', { setupCommand: [7] }, 'INPUT_TYPE', 'setupCommand'],
    ['null for a command', { setupCommand: null }, 'INPUT_TYPE', 'setupCommand'],
    ['a NUL in a command', { setupCommand: 'a\0b' }, 'INPUT_CHARACTER', 'setupCommand'],
    ['an escape character in a command', { setupCommand: 'a\u001Bb' }, 'INPUT_CHARACTER', 'setupCommand'],
    ['a C1 control character in a command', { setupCommand: 'a\u0085b' }, 'INPUT_CHARACTER', 'setupCommand'],
    ['half a surrogate pair', { setupCommand: 'a\uD83D' }, 'INPUT_CHARACTER', 'setupCommand'],
    ['an endless command', { setupCommand: 'a'.repeat(32_769) }, 'INPUT_TOO_LONG', 'setupCommand'],
    ['too many commands', { setupCommand: Array.from({ length: 257 }, () => '') }, 'INPUT_TOO_MANY', 'setupCommand'],
    ['a list for an environment', { buildEnv: ['A=1'] }, 'INPUT_TYPE', 'buildEnv'],
    ['null for an environment', { buildEnv: null }, 'INPUT_TYPE', 'buildEnv'],
    ['an empty variable name', { buildEnv: { '': '1' } }, 'ENV_NAME_INVALID', 'buildEnv'],
    ['a digit first', { buildEnv: { '1A': '1' } }, 'ENV_NAME_INVALID', 'buildEnv'],
    ['a dash in a variable name', { buildEnv: { 'A-B': '1' } }, 'ENV_NAME_INVALID', 'buildEnv'],
    ['a line feed after a variable name', { buildEnv: { 'A\n': '1' } }, 'ENV_NAME_INVALID', 'buildEnv'],
    ['an endless variable name', { buildEnv: { ['A'.repeat(257)]: '1' } }, 'ENV_NAME_INVALID', 'buildEnv'],
    ['a number for a value', { buildEnv: { A: 1 } }, 'INPUT_TYPE', 'buildEnv.A'],
    ['a NUL in a value', { buildEnv: { A: '\0' } }, 'INPUT_CHARACTER', 'buildEnv.A'],
    ['an endless value', { buildEnv: { A: 'a'.repeat(32_769) } }, 'INPUT_TOO_LONG', 'buildEnv.A'],
    ['no value', { buildEnv: { A: { version: '1' } } }, 'INPUT_TYPE', 'buildEnv.A.value'],
    ['no version', { buildEnv: { A: { value: '1' } } }, 'INPUT_TYPE', 'buildEnv.A.version'],
    ['an empty version', { buildEnv: { A: { value: '1', version: '' } } }, 'INPUT_REQUIRED', 'buildEnv.A.version'],
    [
      'an endless version',
      { buildEnv: { A: { value: '', version: 'v'.repeat(257) } } },
      'INPUT_TOO_LONG',
      'buildEnv.A.version',
    ],
    [
      'a field beside the version',
      { buildEnv: { A: { value: '', version: '1', salt: '' } } },
      'INPUT_UNKNOWN_FIELD',
      'buildEnv.A.salt',
    ],
    [
      'too many variables',
      { buildEnv: Object.fromEntries(Array.from({ length: 257 }, (_, i) => [`A${i}`, ''])) },
      'INPUT_TOO_MANY',
      'buildEnv',
    ],
    ['no processor', { cpuCount: 0 }, 'CPU_COUNT_INVALID', 'cpuCount'],
    ['three processors', { cpuCount: 3 }, 'CPU_COUNT_INVALID', 'cpuCount'],
    ['34 processors', { cpuCount: 34 }, 'CPU_COUNT_INVALID', 'cpuCount'],
    ['processors as text', { cpuCount: '2' }, 'CPU_COUNT_INVALID', 'cpuCount'],
    ['half a processor', { cpuCount: 2.5 }, 'CPU_COUNT_INVALID', 'cpuCount'],
    ['no number', { cpuCount: Number.NaN }, 'CPU_COUNT_INVALID', 'cpuCount'],
    ['little memory', { memoryMB: 126 }, 'MEMORY_INVALID', 'memoryMB'],
    ['odd memory', { memoryMB: 1025 }, 'MEMORY_INVALID', 'memoryMB'],
    ['endless memory', { memoryMB: Number.POSITIVE_INFINITY }, 'MEMORY_INVALID', 'memoryMB'],
    ['more than a TiB', { memoryMB: 1_048_578 }, 'MEMORY_INVALID', 'memoryMB'],
    ['a relative directory', { workingDirectory: 'srv' }, 'WORKING_DIRECTORY_INVALID', 'workingDirectory'],
    ['no directory', { workingDirectory: '' }, 'WORKING_DIRECTORY_INVALID', 'workingDirectory'],
    ['the root', { workingDirectory: '//' }, 'WORKING_DIRECTORY_INVALID', 'workingDirectory'],
    ['a way up', { workingDirectory: '/srv/../etc' }, 'WORKING_DIRECTORY_INVALID', 'workingDirectory'],
    ['a way nowhere', { workingDirectory: '/srv/.' }, 'WORKING_DIRECTORY_INVALID', 'workingDirectory'],
    ['a quote in the directory', { workingDirectory: "/srv/it's" }, 'WORKING_DIRECTORY_INVALID', 'workingDirectory'],
    [
      'a variable in the directory',
      { workingDirectory: '/srv/$HOME' },
      'WORKING_DIRECTORY_INVALID',
      'workingDirectory',
    ],
    ['a line feed in the directory', { workingDirectory: '/srv\n' }, 'WORKING_DIRECTORY_INVALID', 'workingDirectory'],
    ['an endless directory', { workingDirectory: '/a'.repeat(513) }, 'INPUT_TOO_LONG', 'workingDirectory'],
    ['a word for a flag', { submodules: 'yes' }, 'INPUT_TYPE', 'submodules'],
    ['a number for a flag', { lfs: 1 }, 'INPUT_TYPE', 'lfs'],
    ['a base outside the grammar', { baseTemplateId: 'node:24@x' }, 'TAG_INVALID', 'baseTemplateId'],
    ['an empty base', { baseTemplateId: '' }, 'NAME_INVALID', 'baseTemplateId'],
    ['an endless base', { baseTemplateId: 'a'.repeat(387) }, 'NAME_INVALID', 'baseTemplateId'],
    ['a NUL in the salt', { salt: '\0' }, 'INPUT_CHARACTER', 'salt'],
    ['an endless salt', { salt: 's'.repeat(1025) }, 'INPUT_TOO_LONG', 'salt'],
    ['an empty key', { extra: { '': '' } }, 'INPUT_REQUIRED', 'extra'],
    ['an endless key', { extra: { ['k'.repeat(257)]: '' } }, 'INPUT_TOO_LONG', 'extra'],
    ['a NUL in a key', { extra: { 'k\0': '' } }, 'INPUT_CHARACTER', 'extra'],
    ['a number for an extra', { extra: { k: 1 } }, 'INPUT_TYPE', 'extra.k'],
    ['an endless extra', { extra: { k: 'v'.repeat(32_769) } }, 'INPUT_TOO_LONG', 'extra.k'],
    [
      'too many extras',
      { extra: Object.fromEntries(Array.from({ length: 257 }, (_, i) => [i, ''])) },
      'INPUT_TOO_MANY',
      'extra',
    ],
    ['a misspelt field', { cpucount: 4 }, 'INPUT_UNKNOWN_FIELD', 'cpucount'],
  ]
  test.each(refused)('%s', (_, fields, code, field) => {
    expect(() => Reflect.apply(repoTemplateRef, undefined, [{ cloneUrl, ...fields }])).toThrow(
      expect.objectContaining({ name: 'IdentityError', code, field }),
    )
  })

  test.each([undefined, null, 'https://github.com/acme/widgets', []])('%j for an identity', (identity) => {
    expect(() => Reflect.apply(repoTemplateRef, undefined, [identity])).toThrow(
      expect.objectContaining({ code: 'INPUT_TYPE', field: 'identity' }),
    )
  })

  test('an error of a secret does not quote it', () => {
    const error = (() => {
      try {
        return repoTemplateRef({ cloneUrl, buildEnv: { TOKEN: 's3cr3t\0' }, salt: 's3cr3t' })
      } catch (refusal) {
        return refusal
      }
    })()
    expect(error).toBeInstanceOf(IdentityError)
    expect(`${String(error)} ${JSON.stringify(error)}`).not.toContain('s3cr3t')
  })
})
