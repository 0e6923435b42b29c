export { createEnvd, type Envd, type EnvdOptions } from './envd.ts'
export type { SandboxForEnvd } from './sandbox.ts'
export { isSignedFor } from './http/access.ts'
export { sandboxNotFoundAnswer } from './http/answers.ts'
