import type { ResolutionEvent, Rung } from '@warmbox/resolution';
/** What happens to a sandbox outside template resolution. */
export type SandboxEvent = {
    readonly type: 'sandbox-created';
    readonly sandboxId: string;
    readonly ref: string;
    /** Absent where a subclass resolved the template itself. */
    readonly rung?: Rung;
    /** True where create failed ambiguously and the sandbox it had made all the same was found and taken over. */
    readonly adopted: boolean;
    readonly durationMs: number;
} | {
    readonly type: 'sandbox-connected';
    readonly sandboxId: string;
    /** What led to it: its own id, its logical id, or a start of the same logical id elsewhere in this process. */
    readonly by: 'sandbox-id' | 'logical-id' | 'shared-start';
    readonly durationMs: number;
}
/** Several sandboxes carry one logical id. The oldest is kept; `killed` tells whether this one was ours to kill. */
 | {
    readonly type: 'sandbox-duplicate';
    readonly sandboxId: string;
    readonly keptSandboxId: string;
    readonly killed: boolean;
}
/** A sandbox was found dead or asleep when a command was to start; another start follows. */
 | {
    readonly type: 'sandbox-lost';
    readonly sandboxId: string;
    readonly reason: 'gone' | 'paused';
} | {
    readonly type: 'sandbox-stopped';
    readonly sandboxId: string;
} | {
    readonly type: 'sandbox-destroyed';
    readonly sandboxId: string;
};
/** Everything `onEvent` receives. */
export type E2BSandboxEvent = ResolutionEvent | SandboxEvent;
/** Receives events. A listener that throws is logged and otherwise ignored. */
export type E2BSandboxListener = (event: E2BSandboxEvent) => void;
