import type { Sandbox, SandboxInfo } from 'e2b';
import { type Clock } from '@warmbox/resolution';
/** One create attempt, and the ways to find or discard what it made. */
export interface CreateAttempt {
    /** Sends the create, with an attempt id in the metadata. Never aborted: what it makes must be known. */
    create(): Promise<Sandbox>;
    /** The sandboxes that carry the attempt id. */
    findCreated(signal: AbortSignal): Promise<readonly SandboxInfo[]>;
    connect(sandboxId: string, signal: AbortSignal): Promise<Sandbox>;
    kill(sandboxId: string): Promise<unknown>;
    /** Given work that goes on after an abort: killing what arrives late. Never rejects. */
    later(work: Promise<void>): void;
    /** Told what could not be done about a sandbox that may exist. */
    warn(message: string): void;
}
export interface Created {
    readonly sandbox: Sandbox;
    /** True where create failed and the sandbox it had made all the same was found. */
    readonly adopted: boolean;
}
/**
 * Creates exactly one sandbox from `ref`, or none. Aborted, it rejects at once, and a sandbox that arrives later is
 * killed. Create is not idempotent, so it is never repeated: after a 5xx, a timeout or a lost connection the sandbox is
 * looked up by its attempt id and taken over.
 * @throws TemplateUnusableError where `ref` cannot be booted
 */
export declare function createOnce(ref: string, attempt: CreateAttempt, signal: AbortSignal, clock: Clock): Promise<Created>;
