import type { Sandbox, SandboxConnectOpts, SandboxOpts } from 'e2b';
import type { Connection } from './connection.ts';
import type { E2BSandboxEvent } from './events.ts';
import type { ResolvedOptions } from './options.ts';
/** What finding and creating need of the sandbox they work for; its subclasses override the two SDK calls. */
export interface SandboxHost {
    readonly options: ResolvedOptions;
    /** @throws E2BSandboxError `MISSING_API_KEY` */
    connection(): Connection;
    createSdkSandbox(ref: string, options: SandboxOpts): Promise<Sandbox>;
    connectSdkSandbox(sandboxId: string, options: SandboxConnectOpts): Promise<Sandbox>;
    emit(event: E2BSandboxEvent): void;
}
/** Connects, and resumes where paused; the time to live is renewed by it. Rejects with the SDK's own errors. */
export declare const connectTo: (host: SandboxHost, sandboxId: string, signal: AbortSignal) => Promise<Sandbox>;
