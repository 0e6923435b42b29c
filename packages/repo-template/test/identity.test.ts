import { Template, type TemplateBuilder } from 'e2b'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createRepoTemplate, type HeadResolver, type RepoTemplateOptions } from '@warmbox/repo-template'

const sha = 'a'.repeat(40)
const cloneUrl = 'https://git.example.com/acme/widgets.git'

/**
 * Every option, by whether it decides what is in the image. An option that is added does not compile before it is here
 * too, and then is part of the properties below.
 */
const kinds: Readonly<Record<keyof RepoTemplateOptions, 'image' | 'name' | 'way'>> = {
  getRepositoryAccess: 'image',
  setupCommand: 'image',
  buildEnv: 'image',
  cpuCount: 'image',
  memoryMB: 'image',
  nodeVersion: 'image',
  workingDirectory: 'image',
  base: 'image',
  submodules: 'image',
  lfs: 'image',
  sha: 'image',
  salt: 'name',
  extra: 'name',
  prefix: 'name',
  branch: 'way',
  tag: 'way',
  pull: 'way',
  mergeRequest: 'way',
  source: 'way',
  cloneTimeoutMs: 'way',
  cleanEvery: 'way',
  maxStaleMs: 'way',
  credentialForms: 'way',
  allowedHosts: 'way',
  fallbackTemplate: 'way',
  certificateAuthority: 'way',
  headTimeoutMs: 'way',
  resolveHead: 'way',
}

const accessTo = (url: string, token?: string) => () =>
  Promise.resolve({
    cloneUrl: url,
    ...(token === undefined ? {} : { authorization: { scheme: 'bearer' as const, token } }),
  })
const headAt =
  (commit: string): HeadResolver =>
  (access) =>
    Promise.resolve({ status: 'found', sha: commit, cloneUrl: access.cloneUrl })

const bases: readonly ((builder: TemplateBuilder) => TemplateBuilder)[] = [
  (builder) => builder,
  (builder) => builder.aptInstall(['ripgrep']),
  (builder) => builder.runCmd('a').runCmd('b'),
  (builder) => builder.runCmd('a b'),
  (builder) => builder.runCmd('a', { user: 'b' }),
  (builder) => builder.setEnvs({ A: '1' }),
  () => Template().fromImage('debian:12'),
  () => Template().fromTemplate('debian:12'),
]

/** Few values each, so that two draws often differ in one option only. */
const domains: { readonly [Key in keyof RepoTemplateOptions]-?: readonly RepoTemplateOptions[Key][] } = {
  getRepositoryAccess: [
    accessTo(cloneUrl),
    accessTo(`${cloneUrl.slice(0, -4)}/`),
    accessTo('https://git.example.com/acme/Widgets'),
    accessTo('https://git.example.com:8443/acme/widgets'),
  ],
  setupCommand: [undefined, 'a', ['a', 'b'], 'a\nb', ['a b'], ['', 'a']],
  buildEnv: [undefined, { A: '1' }, { A: '1', B: '' }, { B: '1' }, { A: { value: 'x', version: '1' } }],
  cpuCount: [undefined, 1, 2, 4],
  memoryMB: [undefined, 512, 1024],
  nodeVersion: [undefined, '22.22.0', '24.20.0'],
  workingDirectory: [undefined, '/home/user/widgets', '/home/user/a', '/srv/a'],
  base: [undefined, ...bases],
  submodules: [undefined, false, true],
  lfs: [undefined, false, true],
  sha: [undefined, sha, 'b'.repeat(40), 'a'.repeat(64)],
  salt: [undefined, '', 's'],
  extra: [undefined, { a: '1' }, { a: '2' }],
  prefix: [undefined, 'mine'],
  branch: [undefined, 'x'],
  tag: [undefined],
  pull: [undefined],
  mergeRequest: [undefined],
  source: [undefined, 'clone', 'upload'],
  cloneTimeoutMs: [undefined, 5000],
  cleanEvery: [undefined, 1],
  maxStaleMs: [undefined, 0],
  credentialForms: [undefined, { 'git.example.com': { scheme: 'bearer' } }],
  allowedHosts: [undefined, ['*', '*.example.com', 'git.example.com', 'git.example.com:8443']],
  fallbackTemplate: [undefined, 'other:1'],
  certificateAuthority: [undefined, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'],
  headTimeoutMs: [undefined, 5],
  resolveHead: [headAt(sha), headAt('c'.repeat(40))],
}

const anyOptions: fc.Arbitrary<RepoTemplateOptions> = fc.record({
  getRepositoryAccess: fc.constantFrom(...domains.getRepositoryAccess),
  setupCommand: fc.constantFrom(...domains.setupCommand),
  buildEnv: fc.constantFrom(...domains.buildEnv),
  cpuCount: fc.constantFrom(...domains.cpuCount),
  memoryMB: fc.constantFrom(...domains.memoryMB),
  nodeVersion: fc.constantFrom(...domains.nodeVersion),
  workingDirectory: fc.constantFrom(...domains.workingDirectory),
  base: fc.constantFrom(...domains.base),
  submodules: fc.constantFrom(...domains.submodules),
  lfs: fc.constantFrom(...domains.lfs),
  sha: fc.constantFrom(...domains.sha),
  salt: fc.constantFrom(...domains.salt),
  extra: fc.constantFrom(...domains.extra),
  prefix: fc.constantFrom(...domains.prefix),
  branch: fc.constantFrom(...domains.branch),
  source: fc.constantFrom(...domains.source),
  cloneTimeoutMs: fc.constantFrom(...domains.cloneTimeoutMs),
  cleanEvery: fc.constantFrom(...domains.cleanEvery),
  maxStaleMs: fc.constantFrom(...domains.maxStaleMs),
  credentialForms: fc.constantFrom(...domains.credentialForms),
  allowedHosts: fc.constantFrom(...domains.allowedHosts),
  fallbackTemplate: fc.constantFrom(...domains.fallbackTemplate),
  certificateAuthority: fc.constantFrom(...domains.certificateAuthority),
  headTimeoutMs: fc.constantFrom(...domains.headTimeoutMs),
  resolveHead: fc.constantFrom(...domains.resolveHead),
})

/** Less the one combination that is refused. */
const acceptable = (options: RepoTemplateOptions): RepoTemplateOptions =>
  options.source === 'upload' ? { ...options, allowedHosts: undefined } : options

const resolve = async (given: RepoTemplateOptions) => {
  const options = acceptable(given)
  const spec = await createRepoTemplate(options)?.resolveSpec()
  if (spec === undefined) throw new Error('no spec')
  return spec
}

/** Less the options that say only how the image comes about. */
const imageOf = (options: RepoTemplateOptions): RepoTemplateOptions => ({
  ...options,
  source: 'clone',
  cloneTimeoutMs: undefined,
  credentialForms: undefined,
  allowedHosts: undefined,
  branch: undefined,
})

/** All that E2B is told, plus what it is asked for in size. */
const definitionOf = async (options: RepoTemplateOptions): Promise<string> => {
  const { template, buildResources } = await resolve(imageOf(options))
  // How git spells the URL it clones from is the caller's; which repository that is, the record in the image says.
  const definition = (await Template.toJSON(template, false)).replaceAll(/widgets(?:\.git|\/)'/g, "widgets'")
  return JSON.stringify([definition, buildResources])
}

test('options that build different images never share a ref', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(
      anyOptions,
      // One option at a time, or all of them.
      fc.oneof(
        anyOptions,
        fc.tuple(anyOptions, fc.constantFrom(...Object.keys(kinds))).map(([other, key]) => ({ key, other })),
      ),
      async (one, change) => {
        const two: RepoTemplateOptions =
          'key' in change ? { ...one, [change.key]: Reflect.get(change.other, change.key) } : change
        const [first, second] = await Promise.all([resolve(one), resolve(two)])
        const [image, other] = await Promise.all([definitionOf(one), definitionOf(two)])
        expect(image === other || first.ref !== second.ref).toBe(true)
      },
    ),
    { numRuns: 400 },
  )
})

test('options that only say how an image comes about rename nothing', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(anyOptions, async (options) => {
      const [one, other] = await Promise.all([resolve(options), resolve(imageOf(options))])
      // The tag says which line it is for, too.
      expect(one.ref.split(':')[0]).toBe(other.ref.split(':')[0])
    }),
    { numRuns: 100 },
  )
})

test.each(Object.keys(kinds).filter((key) => Object.hasOwn(domains, key)))('%s is among the options drawn', (key) => {
  expect(new Map(Object.entries(domains)).get(key)?.length).toBeGreaterThan(0)
})
