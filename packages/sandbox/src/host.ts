import type { Sandbox, SandboxConnectOpts, SandboxOpts } from 'e2b'
import type { Connection } from './connection.ts'
import type { E2BSandboxEvent } from './events.ts'
import type { ResolvedOptions } from './options.ts'

/** What finding and creating need of the sandbox they work for; its subclasses override the two SDK calls. */
export interface SandboxHost {
  readonly options: ResolvedOptions
  /** @throws E2BSandboxError `MISSING_API_KEY` */
  connection(): Connection
  createSdkSandbox(ref: string, options: SandboxOpts): Promise<Sandbox>
  connectSdkSandbox(sandboxId: string, options: SandboxConnectOpts): Promise<Sandbox>
  emit(event: E2BSandboxEvent): void
}

/** Names a session within this process: accounts do not share theirs. */
export const sessionKey = (host: SandboxHost): string => `${host.connection().templates.scope}\n${host.options.id}`
