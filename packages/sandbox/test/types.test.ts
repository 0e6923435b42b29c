import {
  MastraSandbox,
  type SandboxNetworking,
  SandboxProcessManager,
  type SandboxStartResult,
  type WorkspaceSandbox,
} from '@mastra/core/workspace'
import {
  E2BProcessManager,
  E2BSandbox,
  type E2BSandboxEvent,
  type E2BSandboxOptions,
  type TemplateSpec,
} from '@warmbox/sandbox'
import type { Sandbox, SandboxConnectOpts, SandboxLifecycle, SandboxNetworkOpts, SandboxOpts } from 'e2b'
import { expect, expectTypeOf, test } from 'vitest'

test('the class is a Mastra sandbox over the SDK', () => {
  expectTypeOf<E2BSandbox>().toExtend<MastraSandbox<Sandbox>>()
  expectTypeOf<E2BSandbox>().toExtend<WorkspaceSandbox>()
  expectTypeOf<E2BSandbox['processes']>().toEqualTypeOf<E2BProcessManager>()
  expectTypeOf<E2BProcessManager>().toExtend<SandboxProcessManager<E2BSandbox>>()
  expectTypeOf<E2BSandbox['e2b']>().toEqualTypeOf<Sandbox>()
  expectTypeOf<E2BSandbox['instance']>().toEqualTypeOf<Sandbox>()
  expectTypeOf<E2BSandbox['isReady']>().toEqualTypeOf<() => Promise<boolean>>()
  expectTypeOf<E2BSandbox['sandboxId']>().toEqualTypeOf<string | undefined>()
  expectTypeOf<E2BSandbox['networking']>().toEqualTypeOf<SandboxNetworking>()
  expectTypeOf<E2BSandbox['clone']>().returns.toEqualTypeOf<E2BSandbox>()
  expectTypeOf<ReturnType<E2BSandbox['start']>>().toEqualTypeOf<Promise<SandboxStartResult | void>>()
  expectTypeOf<E2BSandbox['retryOnDead']>().toBeCallableWith(async () => 1)

  expect(E2BSandbox.prototype).toBeInstanceOf(MastraSandbox)
  expect(E2BProcessManager.prototype).toBeInstanceOf(SandboxProcessManager)
})

test('the extension points have the types subclasses rely on', () => {
  class Extended extends E2BSandbox {
    protected override createSdkSandbox(templateId: string, options: SandboxOpts): Promise<Sandbox> {
      return super.createSdkSandbox(templateId, options)
    }

    protected override connectSdkSandbox(sandboxId: string, options: SandboxConnectOpts): Promise<Sandbox> {
      return super.connectSdkSandbox(sandboxId, options)
    }

    protected override resolveTemplate(): Promise<string> {
      return super.resolveTemplate()
    }

    protected override buildDefaultTemplate(): Promise<string> {
      return super.buildDefaultTemplate()
    }

    get state(): [string | undefined, Sandbox | null] {
      return [this._resolvedTemplateId, this._sandbox]
    }
  }

  expect(new Extended().state).toEqual([undefined, null])
})

test('the options are those of the contract', () => {
  expectTypeOf<E2BSandboxOptions>().toExtend<{
    id?: string | undefined
    sandboxId?: string | undefined
    template?: TemplateSpec | undefined
    timeout?: number | undefined
    env?: Record<string, string> | undefined
    metadata?: Record<string, unknown> | undefined
    network?: SandboxNetworkOpts | undefined
    lifecycle?: SandboxLifecycle | undefined
    domain?: string | undefined
    apiUrl?: string | undefined
    apiKey?: string | undefined
    accessToken?: string | undefined
    onEvent?: ((event: E2BSandboxEvent) => void) | undefined
    workingDirectory?: string
  }>()
  expectTypeOf<E2BSandboxOptions>().not.toHaveProperty('processes')

  const everything = { id: 'a', template: undefined, env: { A: '1' } } satisfies E2BSandboxOptions
  expect(new E2BSandbox(everything).id).toBe('a')
})
