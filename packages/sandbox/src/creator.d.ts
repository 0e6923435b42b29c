import type { Sandbox } from 'e2b';
import { type Attempt, type Rung } from '@warmbox/resolution';
import { type Created } from './create-once.ts';
import { type SandboxHost } from './host.ts';
import { type Candidate } from './metadata.ts';
/** How the sandbox was booted when it was last created. */
export interface Boot {
    /** The ref it was created from. */
    readonly ref: string;
    /** The rung that gave the ref; absent where a subclass resolved the template itself. */
    readonly rung?: Rung;
    /** Every rung that was tried, in order. */
    readonly attempts: readonly Attempt[];
}
/** A subclass's own way to a template. */
export interface OwnResolution {
    resolve(): Promise<string>;
    /** Called once, where what `resolve` answered cannot be booted. */
    buildDefault(): Promise<string>;
}
/** A create that is ready to go as far as it can be without changing anything. */
export interface PreparedCreate {
    /** Creates the sandbox, down the ladder where a template cannot be booted. */
    go(): Promise<NewSandbox>;
    /** Forgets it: a sandbox was found. Never rejects. */
    cancel(): Promise<void>;
}
export interface NewSandbox {
    readonly boot: Boot;
    readonly made: Made;
}
export interface Made extends Created {
    readonly own: Candidate;
}
/** Creates the sandbox of a session, and never leaves one behind that nobody knows of. */
export declare class Creator {
    #private;
    constructor(host: SandboxHost);
    /**
     * Begins to resolve the configured template, so that it is known which ref to boot once it is known that a sandbox
     * must be created. Nothing is created, built or reported before `go`.
     */
    prepare(signal: AbortSignal): PreparedCreate;
    /** Creates from what a subclass resolves. */
    createResolved(own: OwnResolution, signal: AbortSignal): Promise<NewSandbox>;
    /**
     * Looks whether another process created a sandbox for the same logical id at the same time. The oldest is kept: a
     * younger one of ours is killed and the older one connected to.
     * @returns what is to be used from now on; undefined where ours stays
     */
    converge(made: Made, signal: AbortSignal): Promise<Sandbox | undefined>;
    /** Ends when nothing that an aborted start left behind can arrive any more. Never rejects. */
    settled(): Promise<void>;
}
