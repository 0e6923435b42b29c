export type { SandboxCapabilities, SandboxCapability } from './capabilities.ts'
export { describeSandbox } from './describe-sandbox.ts'
export type { TestRunner } from './runner.ts'
export type { MountSubject, SandboxRequest, SandboxSubject } from './subject.ts'
