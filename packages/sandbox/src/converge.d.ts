import type { SandboxInfo } from 'e2b';
import { type Candidate } from './metadata.ts';
/** The oldest of the sandboxes that carry one logical id, and the others. */
export interface Choice {
    readonly kept: string;
    readonly others: readonly string[];
}
/** Picks the sandbox all processes agree on; `undefined` where there is none. */
export declare function choose(candidates: readonly Candidate[]): Choice | undefined;
/**
 * The same choice seen by someone who has just created `own`. Its own sandbox takes part although the list may not
 * show it yet.
 */
export declare function chooseAfterCreate(own: Candidate, listed: readonly SandboxInfo[]): Choice;
