import type { CommandHandle } from 'e2b';
import { type CommandResult, ProcessHandle, type SpawnProcessOptions } from '@mastra/core/workspace';
/**
 * What ended a process. `exit`: itself. `signal`: a signal nobody sent from here, such as the kernel's when memory ran
 * out. `timeout`: the `timeout` option. `kill`: `kill()`. `abort`: the abort signal given when it was started.
 */
export type ProcessEnding = 'exit' | 'signal' | 'timeout' | 'kill' | 'abort';
/** Result of a process, with what ended it. */
export interface E2BCommandResult extends CommandResult {
    readonly endedBy: ProcessEnding;
}
export interface ProcessHandleOptions extends Pick<SpawnProcessOptions, 'maxRetainedBytes' | 'onStdout' | 'onStderr' | 'timeout' | 'abortSignal'> {
    /** `closed`: started without one. `open`: can be written and closed. `stuck`: can be written but not closed. */
    readonly stdin: 'closed' | 'open' | 'stuck';
    /** Turns an error of the SDK into a typed one. */
    readonly explain: (error: unknown, operation: string) => Promise<Error>;
}
/** A process in an E2B sandbox. Made by {@link E2BProcessManager}. */
export declare class E2BProcessHandle extends ProcessHandle {
    #private;
    constructor(options: ProcessHandleOptions);
    /** Follows the started process. Called once, by the process manager. @internal */
    attach(process: CommandHandle): void;
    get pid(): string;
    get exitCode(): number | undefined;
    /**
     * Waits for the end. A non-zero exit, a timeout, a kill and an abort are results, told apart by `endedBy`.
     * @throws E2BSandboxError `SANDBOX_GONE` or `CONNECTION_LOST` where the process was lost from sight
     */
    wait(): Promise<E2BCommandResult>;
    /** Sends SIGKILL to the process, not to its children. False where it had ended already. */
    kill(): Promise<boolean>;
    /** @throws E2BSandboxError `STDIN_CLOSED`, or `PROCESS_ENDED` */
    sendStdin(data: string): Promise<void>;
    /** @throws E2BSandboxError `STDIN_CLOSED`, or `PROCESS_ENDED`; UnsupportedStdinCloseError in an old sandbox */
    closeStdin(): Promise<void>;
    /** A listener that throws does not stop the output; `wait` rejects with its error in the end. @internal */
    emitStdout(data: string): void;
    /** @internal */
    emitStderr(data: string): void;
}
