import type { WorkspaceSandbox } from '@mastra/core/workspace'
import type { SandboxCapability } from './capabilities.ts'
import type { SandboxRequest, SandboxSubject } from './subject.ts'

/** What a test is given. */
export interface Trial {
  /** A logical id no other test uses. */
  readonly id: string
  readonly subject: SandboxSubject
  /** A sandbox of this test's id, or of the one given; destroyed when the test ends. */
  readonly sandbox: (request?: Partial<SandboxRequest>) => WorkspaceSandbox
}

/** One behaviour, and what a provider must be able to do for it. */
export interface Behaviour {
  readonly name: string
  readonly needs?: readonly SandboxCapability[]
  readonly run: (trial: Trial) => Promise<void>
}
