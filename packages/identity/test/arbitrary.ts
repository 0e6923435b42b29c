import type { BuildEnvValue, RepoTemplateIdentity } from '@warmbox/identity'
import { fc } from '@fast-check/vitest'

/** Short and full of what a careless serialiser trips over: separators, lengths, line feeds, characters of several units. */
const texts: fc.Arbitrary<string> = fc
  .array(fc.constantFrom('a', 'b', ' ', '\n', '\t', ':', '1', '=', '"', "'", '$', 'é', '～', '😀', 'salt 0:'), {
    maxLength: 4,
  })
  .map((parts) => parts.join(''))

const variables: fc.Arbitrary<Record<string, BuildEnvValue>> = fc.dictionary(
  fc.constantFrom('A', 'B', 'a', '_', 'KEY', 'YARN_X', 'NPM_TOKEN'),
  fc.oneof(texts, fc.record({ value: texts, version: fc.constantFrom('v1', 'v2', 'value 0:') })),
  { maxKeys: 3 },
)

/** Valid identities, drawn from few values, so that two drawn independently are often equal in a field or altogether. */
export const identities: fc.Arbitrary<RepoTemplateIdentity> = fc.record(
  {
    cloneUrl: fc.constantFrom(
      'https://github.com/acme/widgets',
      'https://github.com/acme/widgets.git',
      'https://GITHUB.com/acme/widgets',
      'https://gitlab.com/acme/widgets',
    ),
    sha: fc.constantFrom('a'.repeat(40), 'b'.repeat(64)),
    setupCommand: fc.oneof(texts, fc.array(texts, { maxLength: 3 })),
    buildEnv: variables,
    cpuCount: fc.constantFrom(1, 2, 4),
    memoryMB: fc.constantFrom(1024, 2048),
    workingDirectory: fc.constantFrom('/srv/widgets', '/srv/gadgets'),
    submodules: fc.boolean(),
    lfs: fc.boolean(),
    baseTemplateId: fc.constantFrom('base', 'base:v1'),
    salt: texts,
    extra: fc.dictionary(fc.constantFrom('a', 'é', '～', '😀', '__proto__', 'A 1:'), texts, { maxKeys: 3 }),
  },
  { requiredKeys: ['cloneUrl'] },
)
