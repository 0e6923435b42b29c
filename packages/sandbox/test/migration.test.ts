import type * as published from '@mastra/e2b'
import type * as warmbox from '@warmbox/sandbox'
import {
  createDefaultMountableTemplate,
  E2BCodeModeTransport,
  E2BProcessManager,
  E2BSandbox,
  e2bSandboxProvider,
} from '@warmbox/sandbox'
import { expect, expectTypeOf, test } from 'vitest'

// `@mastra/e2b` is here for its declarations; none of its code is loaded.

const taken = (options: published.E2BSandboxOptions): warmbox.E2BSandbox => new E2BSandbox(options)

test('every option the published provider declares is accepted, with the same type', () => {
  expectTypeOf<published.E2BSandboxOptions>().toExtend<warmbox.E2BSandboxOptions>()
  expectTypeOf<keyof published.E2BSandboxOptions>().toExtend<keyof warmbox.E2BSandboxOptions>()
  expectTypeOf<published.TemplateSpec>().toExtend<warmbox.TemplateSpec>()

  expect(taken({ id: 'a', template: 'base', timeout: 1000, metadata: { n: 1 }, env: { A: 'b' } }).id).toBe('a')
})

test('every mount configuration it declares is accepted', () => {
  expectTypeOf<published.E2BS3MountConfig>().toExtend<warmbox.E2BS3MountConfig>()
  expectTypeOf<published.E2BGCSMountConfig>().toExtend<warmbox.E2BGCSMountConfig>()
  expectTypeOf<published.E2BAzureBlobMountConfig>().toExtend<warmbox.E2BAzureBlobMountConfig>()
  expectTypeOf<published.E2BMountConfig>().toExtend<warmbox.E2BMountConfig>()
})

test('every public name of it has its equivalent', () => {
  // A name it has and this package has not does not compile.
  expectTypeOf<keyof typeof published>().toExtend<keyof typeof warmbox>()
  const names = {
    createDefaultMountableTemplate,
    E2BCodeModeTransport,
    E2BProcessManager,
    E2BSandbox,
    e2bSandboxProvider,
  } satisfies Record<keyof typeof published, unknown>
  expect(Object.values(names)).not.toContain(undefined)
})

test('what it offers on a sandbox is offered here', () => {
  expectTypeOf<keyof published.E2BSandbox>().toExtend<keyof warmbox.E2BSandbox>()
  expectTypeOf<keyof published.E2BProcessManager>().toExtend<keyof warmbox.E2BProcessManager>()
  expectTypeOf<ReturnType<typeof published.createDefaultMountableTemplate>['id']>().toEqualTypeOf<
    ReturnType<typeof warmbox.createDefaultMountableTemplate>['id']
  >()
  expectTypeOf<warmbox.MountableTemplateResult>().toExtend<{ readonly id: string }>()
  expectTypeOf<(typeof published.e2bSandboxProvider)['createSandbox']>()
    .parameter(0)
    .toExtend<warmbox.E2BProviderConfig>()
  expect(e2bSandboxProvider.id).toBe('e2b')
})
