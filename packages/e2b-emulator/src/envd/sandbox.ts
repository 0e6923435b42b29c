import type { Machine } from '../runtime/port.ts'
import type { EnvdVersion } from './abilities.ts'

/** A running sandbox as its envd sees it: the machine, and what the platform's `/init` told it. */
export interface SandboxForEnvd {
  readonly id: string
  readonly machine: Machine
  /** The secret of a secured sandbox; undefined leaves envd open. */
  readonly accessToken: string | undefined
  /** Who runs what names no user. */
  readonly defaultUser: string
  /** Where what names no directory runs; undefined means the home of the user. */
  readonly defaultWorkdir: string | undefined
  /** The variables given when the sandbox was created. */
  readonly envs: Readonly<Record<string, string>>
  /** Decides what this envd can do. Default: the newest known. */
  readonly envdVersion?: EnvdVersion
  /** Becomes `E2B_TEMPLATE_ID` in every process. */
  readonly templateId?: string
  /** What `/metrics` reports as present. */
  readonly resources?: { readonly cpuCount: number; readonly memoryMB: number }
}

/** What every process of the sandbox finds in its environment, before the variables of its own call. */
export function sandboxEnvironment(sandbox: SandboxForEnvd): Record<string, string> {
  return {
    E2B_SANDBOX: 'true',
    E2B_SANDBOX_ID: sandbox.id,
    ...(sandbox.templateId === undefined ? {} : { E2B_TEMPLATE_ID: sandbox.templateId }),
    ...sandbox.envs,
  }
}
