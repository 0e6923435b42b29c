import type { RequestContext } from '@mastra/core/request-context';
import { type ExecuteCommandOptions, MastraSandbox, type ProviderStatus, type SandboxCloneOptions, type SandboxFileInput, type SandboxInfo, type SandboxNetworking, type SandboxStartOptions, type SandboxStartResult, type WriteFilesOptions } from '@mastra/core/workspace';
import type { Sandbox, SandboxConnectOpts, SandboxOpts } from 'e2b';
import { type Boot } from './creator.ts';
import type { E2BSandboxOptions } from './options.ts';
import type { E2BCommandResult } from './process-handle.ts';
import { E2BProcessManager } from './process-manager.ts';
declare const inspectKey: unique symbol;
/**
 * A sandbox on E2B for a Mastra workspace. It finds the sandbox of its logical id, running or paused, or creates one
 * from a template, down to the default template where the wanted one cannot be booted.
 *
 * Constructing it does nothing but check options; `start`, or the first command, connects. `stop` pauses, the next
 * start resumes, `destroy` kills. No printed or JSON form of it holds credentials.
 */
export declare class E2BSandbox extends MastraSandbox<Sandbox> {
    #private;
    /** So that `clone` makes one of the same class. */
    ['constructor']: typeof E2BSandbox;
    readonly id: string;
    readonly name: string;
    readonly provider: string;
    status: ProviderStatus;
    /** Processes in the sandbox; each method starts the sandbox where it does not run. */
    readonly processes: E2BProcessManager;
    /** Public URLs of ports; null while the sandbox does not run here. No request, and nothing is woken. */
    readonly networking: SandboxNetworking;
    /** The SDK's sandbox while this instance is attached to one. */
    protected _sandbox: Sandbox | null;
    /** The ref that last gave a sandbox, or that `resolveTemplate` answered; a ref that cannot be booted is forgotten. */
    protected _resolvedTemplateId: string | undefined;
    /** @throws E2BSandboxError `INVALID_OPTION` */
    constructor(options?: E2BSandboxOptions);
    /**
     * The SDK's sandbox, for what Mastra's interface has no word for.
     * @throws E2BSandboxError `NOT_STARTED`
     */
    get e2b(): Sandbox;
    /** @deprecated Use {@link e2b}. */
    get instance(): Sandbox;
    /** E2B's id of the sandbox this instance is, or was last, attached to; undefined before the first start. */
    get sandboxId(): string | undefined;
    /** How the sandbox was booted; undefined where this instance has created none. */
    get lastBoot(): Boot | undefined;
    /** @deprecated Use `status === 'running'`. */
    isReady(): Promise<boolean>;
    /** Wraps the base class's start with an end that `stop` and `destroy` can bring about. */
    _start(options?: SandboxStartOptions): Promise<SandboxStartResult | void>;
    protected find(options?: SandboxStartOptions): Promise<Sandbox | undefined>;
    protected connect(existing: Sandbox): Promise<void>;
    protected create(options?: SandboxStartOptions): Promise<void>;
    /** Creates every sandbox. Override it to create one of another SDK class; the options are complete. */
    protected createSdkSandbox(templateId: string, options: SandboxOpts): Promise<Sandbox>;
    /** Connects to every sandbox. Override it together with {@link createSdkSandbox}. */
    protected connectSdkSandbox(sandboxId: string, options: SandboxConnectOpts): Promise<Sandbox>;
    /**
     * The ref to create from: the whole resolution of the configured template, builds included. Overridden, its answer is
     * what sandboxes are created from, and {@link buildDefaultTemplate} is called once where it cannot be booted.
     */
    protected resolveTemplate(): Promise<string>;
    /** Builds the default template, at the size the configured one asks for, whether or not it exists; answers its ref. */
    protected buildDefaultTemplate(): Promise<string>;
    _stop(): Promise<void>;
    /**
     * Pauses the sandbox. A start in flight is aborted. Not started here, the sandbox of the `sandboxId` or `id` option is
     * looked up and paused. A sandbox that is gone counts as stopped.
     */
    stop(): Promise<void>;
    _destroy(): Promise<void>;
    /**
     * Kills the sandbox, paused or running. A start in flight is aborted, and what it may still create is killed too. Not
     * started here, the sandboxes of the `sandboxId` or `id` option are looked up and killed.
     */
    destroy(): Promise<void>;
    /**
     * Runs a command in a login shell and waits for its end. Arguments are quoted, the command is not. It has no stdin, no
     * time limit unless `timeout` is given, and all its output is kept unless `maxRetainedBytes` is. A non-zero exit, a
     * timeout and an abort are results, told apart by `endedBy`.
     * @throws E2BSandboxError `ABORTED` where the signal fired before the command began
     */
    executeCommand(command: string, args?: string[], options?: ExecuteCommandOptions): Promise<E2BCommandResult>;
    /**
     * Writes files, making their directories. A file with a `mode` has it before its content arrives.
     * @throws E2BSandboxError `INVALID_OPTION` for a path or mode that is none, `ABORTED`; files written before stay
     */
    writeFiles(files: SandboxFileInput[], options?: WriteFilesOptions): Promise<void>;
    /**
     * What is known of the sandbox, asked of E2B where one is known. Nothing is started or woken by it.
     */
    getInfo(): Promise<SandboxInfo>;
    getInstructions(options?: {
        requestContext?: RequestContext;
    }): string;
    /**
     * A sibling with the same configuration and its own identity. `sandboxId` is not inherited, `env` is added to that of
     * this one, `idleTimeoutMinutes` becomes the timeout. No I/O.
     */
    clone(overrides?: SandboxCloneOptions): E2BSandbox;
    /**
     * Runs `fn` with the sandbox started. Where the SDK says that the sandbox was not there when `fn` began its work, and
     * E2B confirms that it is gone or paused, the sandbox is started again and `fn` runs once more. Nothing that had begun
     * is repeated, and no text a command prints has a say in it.
     * @param options `repeatable`: `fn` may run again although it may have done its work, as reading or writing a file
     * may; then a connection lost to a sandbox that is gone or paused is reason enough. Default false.
     * @throws E2BSandboxError for whatever else the SDK throws
     */
    retryOnDead<T>(fn: () => Promise<T>, options?: {
        repeatable?: boolean;
    }): Promise<T>;
    /**
     * The typed form of an error of the SDK. Whether the sandbox is gone is asked of E2B, since the SDK reports a throttled
     * request in the same way.
     * @internal
     */
    explain(error: unknown, operation: string, sandboxId: string): Promise<Error>;
    /** Identity and state; no options, no credentials. */
    toJSON(): {
        id: string;
        name: string;
        provider: string;
        status: ProviderStatus;
        sandboxId: string | undefined;
    };
    [inspectKey](): object;
}
export {};
