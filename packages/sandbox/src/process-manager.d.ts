import { type ProcessInfo, SandboxProcessManager, type SpawnProcessOptions } from '@mastra/core/workspace';
import { E2BProcessHandle } from './process-handle.ts';
import type { E2BSandbox } from './sandbox.ts';
/**
 * Processes of an E2B sandbox. E2B keeps them; so `list` and `get` also know those another process of the host
 * started.
 */
export declare class E2BProcessManager extends SandboxProcessManager<E2BSandbox> {
    #private;
    /**
     * Starts a command in a login shell and resolves as soon as it runs. Without `timeout` it runs without limit.
     * @throws E2BSandboxError `ABORTED` for a signal that has fired already, `BAD_REQUEST` for a directory that does not
     * exist, `INVALID_OPTION` for a malformed timeout
     */
    spawn(command: string, options?: SpawnProcessOptions): Promise<E2BProcessHandle>;
    /** Everything that runs in the sandbox, and processes started here that have ended and were not released. */
    list(): Promise<ProcessInfo[]>;
    /**
     * Handle of a process, also of one started elsewhere: its output then begins now.
     * @returns undefined where no such process runs
     */
    get(pid: string): Promise<E2BProcessHandle | undefined>;
    /** Process ids mean nothing in another sandbox. @internal */
    forgetAll(): void;
}
