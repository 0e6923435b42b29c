import * as identity from '@warmbox/identity'
import * as repoTemplate from '@warmbox/repo-template'
import type { RefreshRepoTemplateResult, RepositoryAccess, RepoTemplateOptions } from '@warmbox/repo-template'
import type { DeferredNamedTemplateSpec } from '@warmbox/resolution'
import type { ConnectionOpts } from 'e2b'
import { expect, expectTypeOf, test } from 'vitest'

test('a repository gives a deferred spec, or none', () => {
  expectTypeOf(repoTemplate.createRepoTemplate).returns.toEqualTypeOf<DeferredNamedTemplateSpec | undefined>()
  expect(repoTemplate.createRepoTemplate({ getRepositoryAccess: undefined })).toBeUndefined()
})

test('the accessor is a required key that may be undefined', () => {
  expectTypeOf<{ getRepositoryAccess: undefined }>().toExtend<RepoTemplateOptions>()
  expectTypeOf<{ setupCommand: string }>().not.toExtend<RepoTemplateOptions>()
  expectTypeOf<RepositoryAccess>().toEqualTypeOf<{
    cloneUrl: string
    authorization?: { scheme: 'bearer'; token: string }
  }>()
})

test('build variables are given as a value or by an async function', () => {
  expectTypeOf<Record<string, string>>().toExtend<RepoTemplateOptions['buildEnv']>()
  expectTypeOf<() => Promise<Record<string, string>>>().toExtend<RepoTemplateOptions['buildEnv']>()
})

test('a refresh tells ref, action and sha', () => {
  expectTypeOf<RefreshRepoTemplateResult>().toExtend<{ ref: string; action: 'reused' | 'built'; sha?: string }>()
  expectTypeOf(repoTemplate.refreshRepoTemplate).parameter(0).toEqualTypeOf<RepoTemplateOptions>()
  expectTypeOf<ConnectionOpts>().toExtend<Parameters<typeof repoTemplate.refreshRepoTemplate>[1]>()
})

test('repoTemplateRef is the one of the identity package', () => {
  expect(repoTemplate.repoTemplateRef).toBe(identity.repoTemplateRef)
})
