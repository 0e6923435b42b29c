import * as resolution from '@warmbox/resolution'
import type {
  Attempt,
  BootOptions,
  DeferredNamedTemplateSpec,
  MountableTemplateOptions,
  MountableTemplateResult,
  NamedTemplateSpec,
  PreparedResolution,
  PrepareResolutionOptions,
  ResolutionEvent,
  ResolveContext,
  Rung,
  TemplateApi,
  TemplateResources,
  TemplateSpec,
} from '@warmbox/resolution'
import type { ConnectionOpts, TemplateBuilder } from 'e2b'
import { expect, expectTypeOf, test } from 'vitest'

test('the types hosts write against', () => {
  expectTypeOf<TemplateSpec>().toEqualTypeOf<
    | string
    | TemplateBuilder
    | ((base: TemplateBuilder) => TemplateBuilder)
    | NamedTemplateSpec
    | DeferredNamedTemplateSpec
  >()
  expectTypeOf<TemplateResources>().toEqualTypeOf<{ cpuCount?: number; memoryMB?: number }>()
  expectTypeOf<NamedTemplateSpec>().toExtend<{
    ref: string
    template: TemplateBuilder
    fallbackTemplate?: string | TemplateBuilder | NamedTemplateSpec
    staleRef?: string
    buildTags?: string[]
    buildResources?: TemplateResources
  }>()
  expectTypeOf<{ ref: string; template: TemplateBuilder }>().toExtend<NamedTemplateSpec>()
  expectTypeOf<NonNullable<NamedTemplateSpec['isCurrent']>>().toEqualTypeOf<
    (signal?: AbortSignal) => Promise<boolean>
  >()
  expectTypeOf<() => Promise<NamedTemplateSpec>>().toExtend<DeferredNamedTemplateSpec['resolveSpec']>()
  expectTypeOf<DeferredNamedTemplateSpec['resolveSpec']>().parameter(0).toEqualTypeOf<ResolveContext | undefined>()
  expectTypeOf<MountableTemplateOptions>().toEqualTypeOf<{
    nodeVersion?: string
    cpuCount?: number
    memoryMB?: number
  }>()
  expectTypeOf<MountableTemplateResult>().toEqualTypeOf<{
    template: TemplateBuilder
    id: string
    aptPackages: string[]
    resources: Required<TemplateResources>
  }>()
})

test('the functions hosts call', () => {
  expectTypeOf(resolution.isNamedTemplateSpec).guards.toEqualTypeOf<NamedTemplateSpec>()
  expectTypeOf(resolution.isDeferredNamedTemplateSpec).guards.toEqualTypeOf<DeferredNamedTemplateSpec>()
  expectTypeOf(resolution.createDefaultMountableTemplate).toEqualTypeOf<
    (options?: MountableTemplateOptions) => MountableTemplateResult
  >()
  expectTypeOf(resolution.createTemplateApi).toEqualTypeOf<(connection?: ConnectionOpts) => TemplateApi>()
  expectTypeOf(resolution.bootFromSpec<number>).parameters.toEqualTypeOf<
    [spec: TemplateSpec | PreparedResolution | undefined, options: BootOptions<number>]
  >()
  expectTypeOf(resolution.bootFromSpec<number>).returns.resolves.toEqualTypeOf<{
    readonly value: number
    readonly ref: string
    readonly rung: Rung
    readonly attempts: readonly Attempt[]
  }>()
  expectTypeOf(resolution.resolveTemplate).returns.resolves.toEqualTypeOf<{
    readonly ref: string
    readonly rung: Rung
    readonly attempts: readonly Attempt[]
  }>()
  expectTypeOf(resolution.settleBackgroundBuilds).toEqualTypeOf<() => Promise<void>>()
  expectTypeOf(resolution.classifyBootError).toEqualTypeOf<(error: unknown) => 'unusable' | 'ambiguous' | 'propagate'>()
  expectTypeOf(resolution.prepareResolution).toEqualTypeOf<
    (spec: TemplateSpec | undefined, options: PrepareResolutionOptions) => Promise<PreparedResolution>
  >()
  expectTypeOf(resolution.attemptsOf).toEqualTypeOf<(error: unknown) => readonly Attempt[]>()
  expectTypeOf(resolution.isResolutionError).guards.toEqualTypeOf<resolution.ResolutionError>()
})

test('the words of a resolution', () => {
  expectTypeOf<Rung>().toEqualTypeOf<'exact' | 'stale' | 'joined' | 'built' | 'fallback' | 'default' | 'rebuilt'>()
  expectTypeOf<ResolutionEvent['type']>().toEqualTypeOf<
    | 'rung'
    | 'create'
    | 'build-start'
    | 'build-joined'
    | 'build-taken-over'
    | 'build-log'
    | 'build-end'
    | 'advance'
    | 'warning'
    | 'resolution-end'
  >()
})

test('the values a host can import, the constants of the identity included', () => {
  expect(Object.keys(resolution).toSorted()).toEqual([
    'CONNECTION_OPTION_NAMES',
    'DEFAULT_BUILD_TIMEOUT_MS',
    'DEFAULT_CPU_COUNT',
    'DEFAULT_MEMORY_MB',
    'DEFAULT_NODE_VERSION',
    'MOUNTABLE_TEMPLATE_VERSION',
    'ResolutionError',
    'TemplateUnusableError',
    'WarmboxError',
    'applyMountableSteps',
    'assertBoolean',
    'assertGivenOptions',
    'attemptTime',
    'attemptsOf',
    'bootFromSpec',
    'bootRef',
    'classifyBootError',
    'createAttemptId',
    'createDefaultMountableTemplate',
    'createMemoryLease',
    'createRedactor',
    'createTemplateApi',
    'ensureTemplate',
    'failureGist',
    'findMisspeltName',
    'findUnknownName',
    'formatTemplateRef',
    'isDeferredNamedTemplateSpec',
    'isNamedTemplateSpec',
    'isResolutionError',
    'isWarmboxError',
    'lookUpAttempt',
    'mountableTemplateId',
    'parseTemplateRef',
    'planTemplate',
    'prepareResolution',
    'quoteShell',
    'repoTemplateRef',
    'resolveTemplate',
    'settleBackgroundBuilds',
    'systemClock',
    'tell',
  ])
})
