import type { SandboxInfo } from '@mastra/core/workspace'
import type { SandboxInfo as SdkSandboxInfo } from 'e2b'

/** What Mastra is told of a sandbox: what this instance knows, and what E2B says of it where it was asked. */
export function describeSandbox(known: SandboxInfo, info: SdkSandboxInfo | undefined): SandboxInfo {
  if (info === undefined) return known
  return {
    ...known,
    createdAt: info.startedAt,
    ...(info.state === 'running' ? { timeoutAt: info.endAt } : {}),
    resources: { cpuCores: info.cpuCount, memoryMB: info.memoryMB },
    metadata: { ...info.metadata, ...known.metadata, state: info.state, templateId: info.templateId },
  }
}
