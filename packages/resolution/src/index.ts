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
