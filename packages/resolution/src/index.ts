export {
  type BuildEnvValue,
  DEFAULT_CPU_COUNT,
  DEFAULT_MEMORY_MB,
  DEFAULT_NODE_VERSION,
  formatTemplateRef,
  isWarmboxError,
  MOUNTABLE_TEMPLATE_VERSION,
  mountableTemplateId,
  parseTemplateRef,
  type RepoTemplateIdentity,
  repoTemplateRef,
  type TemplateRef,
  WarmboxError,
} from '@warmbox/identity'
export { settleBackgroundBuilds } from './background.ts'
export { attemptTime, createAttemptId } from './attempt-id.ts'
export { bootFromSpec, bootRef, resolveTemplate } from './boot.ts'
export { type BootFailure, classifyBootError } from './classify.ts'
export type { BootResult } from './climb.ts'
export { ensureTemplate, type EnsureTemplateOptions, type EnsureTemplateResult } from './ensure.ts'
export {
  applyMountableSteps,
  createDefaultMountableTemplate,
  type MountableTemplateOptions,
  type MountableTemplateResult,
} from './mountable-template.ts'
export { createTemplateApi } from './sdk-template-api.ts'
export { type Clock, systemClock } from './clock.ts'
export {
  attemptsOf,
  isResolutionError,
  ResolutionError,
  type ResolutionErrorCode,
  type ResolutionErrorOptions,
  TemplateUnusableError,
} from './errors.ts'
export type { Attempt, AttemptOutcome, BuildLogLevel, ResolutionEvent, ResolutionListener, Rung } from './events.ts'
export { CONNECTION_OPTION_NAMES } from './connection-checks.ts'
export { failureGist } from './failure-gist.ts'
export { findMisspeltName, findUnknownName, type UnknownName } from './known-names.ts'
export { lookUpAttempt } from './look-up-attempt.ts'
export { assertBoolean } from './option-checks.ts'
export {
  assertGivenOptions,
  type BootAttempt,
  type BootOptions,
  type BootPorts,
  DEFAULT_BUILD_TIMEOUT_MS,
  type PrepareResolutionOptions,
  type ResolveTemplateOptions,
} from './options.ts'
export { type PreparedResolution, prepareResolution } from './prepare-resolution.ts'
export type { BuildLease, LeaseGrant } from './lease.ts'
export { createMemoryLease } from './memory-lease.ts'
export { planTemplate, type PlanConnection, type PlannedMiss, type TemplatePlan } from './plan.ts'
export { createRedactor, type Redactor } from './redact.ts'
export { quoteShell } from './shell.ts'
export { tell } from './tell.ts'
export {
  type DeferredNamedTemplateSpec,
  type IncrementalBuild,
  type IncrementalBuilds,
  isDeferredNamedTemplateSpec,
  isNamedTemplateSpec,
  type NamedTemplateSpec,
  type ResolveContext,
  type TemplateResources,
  type TemplateSpec,
} from './spec.ts'
export type {
  BuildHandle,
  BuildLogEntry,
  BuildProgress,
  BuildRequest,
  BuildState,
  BuildSummary,
  TagAssignment,
  TemplateApi,
  TemplateStatus,
} from './template-api.ts'
export type { Unpinned } from './unpinned.ts'
