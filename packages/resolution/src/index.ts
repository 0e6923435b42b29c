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
export { bootFromSpec, resolveTemplate } from './boot.ts'
export { classifyBootError } from './classify.ts'
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
  ResolutionError,
  type ResolutionErrorCode,
  type ResolutionErrorOptions,
  TemplateUnusableError,
} from './errors.ts'
export type { Attempt, AttemptOutcome, BuildLogLevel, ResolutionEvent, ResolutionListener, Rung } from './events.ts'
export { type BootOptions, DEFAULT_BUILD_TIMEOUT_MS, type ResolveTemplateOptions } from './options.ts'
export { createRedactor, type Redactor } from './redact.ts'
export { quoteShell } from './shell.ts'
export { tell } from './tell.ts'
export {
  type DeferredNamedTemplateSpec,
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
  TagAssignment,
  TemplateApi,
  TemplateStatus,
} from './template-api.ts'
