import type { ResolutionEvent, Rung } from '@warmbox/resolution'

/** What a sandbox was created from: a checkpoint, the seed of one, or a rung of template resolution. */
export type BootRung = Rung | 'checkpoint' | 'seed-checkpoint'

/** What happens to a sandbox outside template resolution. */
export type SandboxEvent =
  | {
      readonly type: 'sandbox-created'
      readonly sandboxId: string
      readonly ref: string
      /** Absent where a subclass resolved the template itself. */
      readonly rung?: BootRung
      /** True where create failed ambiguously and the sandbox it had made all the same was found and taken over. */
      readonly adopted: boolean
      readonly durationMs: number
    }
  | {
      readonly type: 'sandbox-connected'
      readonly sandboxId: string
      /** What led to it: its own id, its logical id, or a start of the same logical id elsewhere in this process. */
      readonly by: 'sandbox-id' | 'logical-id' | 'shared-start'
      readonly durationMs: number
    }
  /**
   * Several sandboxes carry one logical id. The oldest that can be connected to is kept. `killed` tells whether this one
   * was killed: only what this package created is, and by a start that kept another, or by who made it.
   */
  | {
      readonly type: 'sandbox-duplicate'
      readonly sandboxId: string
      readonly keptSandboxId: string
      readonly killed: boolean
    }
  /** A sandbox was found dead or asleep when a command was to start; another start follows. */
  | { readonly type: 'sandbox-lost'; readonly sandboxId: string; readonly reason: 'gone' | 'paused' }
  /** E2B refused to resume this sandbox, which is given up; another one takes its place. */
  | { readonly type: 'sandbox-unusable'; readonly sandboxId: string; readonly reason: string }
  /** There is no such checkpoint (yet); what comes after it in the order of booting is tried. */
  | { readonly type: 'checkpoint-missing'; readonly name: string; readonly ref: string }
  | { readonly type: 'checkpoint-written'; readonly name: string; readonly ref: string; readonly durationMs: number }
  | { readonly type: 'sandbox-stopped'; readonly sandboxId: string }
  | { readonly type: 'sandbox-destroyed'; readonly sandboxId: string }

/** Everything `onEvent` receives. */
export type E2BSandboxEvent = ResolutionEvent | SandboxEvent

/** Receives events. A listener that throws is logged and otherwise ignored. */
export type E2BSandboxListener = (event: E2BSandboxEvent) => void
