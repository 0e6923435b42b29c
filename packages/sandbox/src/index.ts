export { checkpointRef } from './checkpoint-ref.ts'
export { E2BCodeModeTransport } from './code-mode/transport.ts'
export { BREAKER_LIMIT, BREAKER_WINDOW_MS } from './create-breaker.ts'
export type { Boot } from './creator.ts'
export { E2BSandboxError, type E2BSandboxErrorCode, type E2BSandboxErrorOptions } from './errors.ts'
export type { BootRung, E2BSandboxEvent, E2BSandboxListener, SandboxEvent } from './events.ts'
export { LOGICAL_ID_KEY } from './metadata.ts'
export type { E2BAzureBlobMountConfig, E2BGCSMountConfig, E2BMountConfig, E2BS3MountConfig } from './mounts/config.ts'
export { DEFAULT_LIFECYCLE, DEFAULT_SANDBOX_TIMEOUT_MS, type E2BSandboxOptions } from './options.ts'
export { E2BProcessHandle } from './process-handle.ts'
export type { E2BCommandResult, ProcessEnding } from './process-result.ts'
export { E2BProcessManager } from './process-manager.ts'
export { RUN_ID_VARIABLE } from './process-tree.ts'
export { type E2BProviderConfig, e2bSandboxProvider } from './provider.ts'
export { E2BSandbox } from './sandbox.ts'
export {
  createDefaultMountableTemplate,
  isNamedTemplateSpec,
  isDeferredNamedTemplateSpec,
  isWarmboxError,
  type Attempt,
  type Clock,
  type DeferredNamedTemplateSpec,
  type MountableTemplateResult,
  type NamedTemplateSpec,
  type ResolutionEvent,
  type Rung,
  type TemplateResources,
  type TemplateSpec,
  WarmboxError,
} from '@warmbox/resolution'
