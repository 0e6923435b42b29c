import type { SandboxCloneOptions } from '@mastra/core/workspace'
import type { E2BSandboxOptions } from './options.ts'

/**
 * Options of a sibling: the same configuration, nothing that is one sandbox's own. `env` is added to,
 * `idleTimeoutMinutes` becomes the timeout, and a checkpoint is written by the sandbox alone that was given its name.
 */
export function cloneOptions(
  configured: Readonly<E2BSandboxOptions>,
  overrides: SandboxCloneOptions,
): E2BSandboxOptions {
  const { id: _id, sandboxId: _sandboxId, checkpointName: _checkpointName, ...inherited } = configured
  const { checkpointName, env, id, idleTimeoutMinutes, sandboxId, seedCheckpointName, workingDirectory } = overrides
  return {
    ...inherited,
    env: { ...inherited.env, ...env },
    ...(id === undefined ? {} : { id }),
    ...(sandboxId === undefined ? {} : { sandboxId }),
    ...(checkpointName === undefined ? {} : { checkpointName }),
    ...(seedCheckpointName === undefined ? {} : { seedCheckpointName }),
    ...(workingDirectory === undefined ? {} : { workingDirectory }),
    ...(idleTimeoutMinutes === undefined ? {} : { timeout: Math.round(idleTimeoutMinutes * 60_000) }),
  }
}
