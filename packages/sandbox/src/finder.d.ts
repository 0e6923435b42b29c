import type { Sandbox } from 'e2b';
import { type Landing } from './flights.ts';
import { type SandboxHost } from './host.ts';
export interface FindWatch {
    /** A sandbox is about to be connected to, and so resumed where it is paused; undefined once it is known to be gone. */
    waking(sandboxId: string | undefined): void;
    /** It is about to be asked which sandboxes carry the logical id; maybe none does. */
    lookingUp(): void;
}
/**
 * Finds the sandbox of a session. Starts of one logical id run one at a time in this process: the first finds or
 * creates, the others connect to what it got.
 */
export declare class Finder {
    #private;
    constructor(host: SandboxHost);
    /**
     * @param knownId E2B's id of the sandbox, where it is known; E2B's answer that it is gone leads on to the logical id
     * @param watch told what is about to happen
     * @returns undefined where the caller has to create one, and then to `land` the outcome
     */
    find(knownId: string | undefined, signal: AbortSignal, watch: FindWatch): Promise<Sandbox | undefined>;
    /** Reports how the start that this instance runs for its logical id ended. Harmless where it runs none. */
    land(landing: Landing): void;
}
