import * as identity from '@warmbox/identity'
import type { RepoTemplateIdentity } from '@warmbox/identity'
import { expect, expectTypeOf, test } from 'vitest'

test('the names and values this package owns', () => {
  expect(identity).toMatchObject({
    DEFAULT_CPU_COUNT: 2,
    DEFAULT_MEMORY_MB: 1024,
    DEFAULT_NODE_VERSION: '24.20.0',
    MOUNTABLE_TEMPLATE_VERSION: 'v3',
  })
  expectTypeOf(identity.repoTemplateRef).toBeCallableWith({ cloneUrl: 'https://localhost/acme/widgets.git' })
  expectTypeOf(identity.repoTemplateRef).returns.toEqualTypeOf<string>()
})

test('an identity takes what a caller already has', () => {
  expectTypeOf<{
    cloneUrl: string
    sha?: string
    setupCommand?: string
    buildEnv?: Record<string, string>
    cpuCount?: number
    memoryMB?: number
  }>().toExtend<RepoTemplateIdentity>()
  // @ts-expect-error a repository without a clone URL has no identity
  const nameless: RepoTemplateIdentity = { sha: 'a'.repeat(40) }
  expect(() => identity.repoTemplateRef(nameless)).toThrow(expect.objectContaining({ field: 'cloneUrl' }))
})
