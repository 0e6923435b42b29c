import { type CommandHandle, type ConnectionOpts, type ProcessInfo, Sandbox, type SandboxConnectOpts, type SandboxInfo, type SandboxOpts } from 'e2b';
import type { Redactor } from '@warmbox/resolution';
/** The calls of E2B's control plane this package makes. Everything they throw is typed and redacted. */
export interface SandboxApi {
    /** All sandboxes with this metadata, running and paused, every page. */
    list(metadata: Record<string, string>, signal?: AbortSignal): Promise<readonly SandboxInfo[]>;
    info(sandboxId: string, signal?: AbortSignal): Promise<SandboxInfo>;
    /** False where it was paused, or on its way there, already. */
    pause(sandboxId: string): Promise<boolean>;
    /** False where it did not exist. */
    kill(sandboxId: string): Promise<boolean>;
}
/** @param connection what the SDK needs to know the endpoint and the account */
export declare function createSandboxApi(connection: ConnectionOpts, redactor: Redactor): SandboxApi;
/** Creates a sandbox; rejects with the SDK's own errors, as an override in a subclass would. */
export declare const createSdkSandbox: (template: string, options: SandboxOpts) => Promise<Sandbox>;
/** Connects to a sandbox and resumes it where it is paused; rejects with the SDK's own errors. */
export declare const connectSdkSandbox: (sandboxId: string, options: SandboxConnectOpts) => Promise<Sandbox>;
/** Public host name of a port, without scheme. No request. */
export declare const portHost: (sandbox: Sandbox, port: number) => string;
export interface StartProcessOptions {
    readonly cwd: string | undefined;
    readonly envs: Record<string, string>;
    readonly stdin: boolean;
    /** Limit after which the sandbox itself kills the process, in milliseconds; 0 is none. */
    readonly limitMs: number;
    readonly onStdout: (data: string) => void;
    readonly onStderr: (data: string) => void;
}
/** Starts `command` in a login shell. Resolves as soon as it runs; rejects with the SDK's own errors. */
export declare const startProcess: (sandbox: Sandbox, command: string, options: StartProcessOptions) => Promise<CommandHandle>;
/** Follows a running process from now on; earlier output is not repeated. */
export declare const connectProcess: (sandbox: Sandbox, pid: number, output: Pick<StartProcessOptions, 'onStdout' | 'onStderr'>) => Promise<CommandHandle>;
export declare const listProcesses: (sandbox: Sandbox) => Promise<ProcessInfo[]>;
/** Whether the daemon in the sandbox can close a process's stdin; templates built long ago cannot. */
export declare const canCloseStdin: (sandbox: Sandbox) => boolean;
export interface ProcessEnd {
    /** As the daemon reports it: -1 where a signal ended the process. */
    readonly exitCode: number;
}
/** Waits for a process. A non-zero exit is a result; rejects with the SDK's own errors where the stream broke. */
export declare function processEnd(process: CommandHandle): Promise<ProcessEnd>;
export interface FileUpload {
    readonly path: string;
    readonly data: string | ArrayBuffer;
}
/** Writes files, making their directories; rejects with the SDK's own errors. */
export declare function uploadFiles(sandbox: Sandbox, files: readonly FileUpload[], signal: AbortSignal | undefined): Promise<void>;
/** Sends SIGKILL. False where the process had ended already. */
export declare const killProcess: (process: CommandHandle) => Promise<boolean>;
export declare const sendInput: (process: CommandHandle, data: string) => Promise<void>;
export declare const closeInput: (process: CommandHandle) => Promise<void>;
/** Stops following a process. It runs on. */
export declare const leaveProcess: (process: CommandHandle) => Promise<void>;
