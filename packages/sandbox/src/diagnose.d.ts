import type { SandboxApi } from './sdk.ts';
/** What E2B says of a sandbox; `unknown` where it could not be asked. */
export type SandboxCondition = 'running' | 'paused' | 'gone' | 'unknown';
export declare function conditionOf(sandboxes: SandboxApi, sandboxId: string): Promise<SandboxCondition>;
/**
 * Whether a failed request means that the sandbox is gone. The SDK reports a throttled request and a broken stream in
 * ways that look like a dead sandbox, so E2B is asked.
 * @param failure a translated error
 */
export declare function confirmFailure(sandboxes: SandboxApi, failure: Error, operation: string, sandboxId: string): Promise<Error>;
/** The answer, or undefined where the sandbox no longer exists. */
export declare function unlessGone<T>(request: () => Promise<T>): Promise<T | undefined>;
