import type { SandboxInfo } from 'e2b';
/** Metadata key of the logical id. Other E2B providers for Mastra use the same one, so their sandboxes are found too. */
export declare const LOGICAL_ID_KEY = "mastra-sandbox-id";
/** Metadata key of the create attempt that made a sandbox: create is not idempotent, so each attempt can be found. */
export declare const ATTEMPT_ID_KEY = "warmbox-attempt-id";
/** A unique id that begins with the time it was made. */
export declare const createAttemptId: (nowMs: number, random: string) => string;
/** What is compared to decide which of several sandboxes with one logical id is kept. */
export interface Candidate {
    readonly sandboxId: string;
    readonly metadata: Readonly<Record<string, string>>;
    readonly startedAt: Date;
}
export declare const toCandidate: (info: SandboxInfo) => Candidate;
/** Oldest first; equal ages in the order of ids, so that no two processes disagree. */
export declare const byAge: (a: Candidate, b: Candidate) => number;
