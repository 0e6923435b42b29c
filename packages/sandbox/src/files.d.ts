import type { SandboxFileInput } from '@mastra/core/workspace';
import type { Sandbox } from 'e2b';
/** @throws E2BSandboxError `INVALID_OPTION` for an empty path or a mode that is none */
export declare function assertFiles(files: readonly SandboxFileInput[]): void;
/**
 * Writes files, making their directories. Rejects with the SDK's own errors.
 * @throws E2BSandboxError `BAD_REQUEST` where a mode could not be set
 */
export declare function writeSandboxFiles(sandbox: Sandbox, files: readonly SandboxFileInput[], signal: AbortSignal | undefined): Promise<void>;
