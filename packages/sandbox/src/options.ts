import type { InstructionsOption, MastraSandboxOptions } from '@mastra/core/workspace'
import type { SandboxLifecycle, SandboxNetworkOpts } from 'e2b'
import type { BuildLease, Clock, TemplateSpec } from '@warmbox/resolution'
import type { E2BSandboxListener } from './events.ts'

/** Idle time after which E2B ends a sandbox, in milliseconds, where the `timeout` option is absent. */
export const DEFAULT_SANDBOX_TIMEOUT_MS = 300_000

/** What happens at that time where the `lifecycle` option is absent: nothing is lost, and traffic wakes nothing. */
export const DEFAULT_LIFECYCLE = Object.freeze({ onTimeout: 'pause', autoResume: false }) satisfies SandboxLifecycle

/** Options of {@link E2BSandbox}. Every option may be absent. */
export interface E2BSandboxOptions extends Omit<MastraSandboxOptions, 'processes' | 'env'> {
  /**
   * Logical id of the session. A start finds the sandbox that carries it, running or paused, in this or any other
   * process, and creates one only where there is none. Default: a new id, known to this instance alone.
   */
  id?: string | undefined
  /**
   * E2B's id of a sandbox to take over. Given together with `id`, the sandbox must carry it: before anything is resumed,
   * stopped or destroyed that is looked up, and another one is refused with `SANDBOX_FOREIGN`. Only E2B's answer that it
   * does not exist lets the start go on to the logical id; any other failure rejects.
   */
  sandboxId?: string | undefined
  /**
   * What to boot: ref, builder, function over the default template, named spec, or a spec computed at the start, such
   * as that of a repository. Absent: the default mountable template.
   */
  template?: TemplateSpec | undefined
  /** Time to live without renewal, in milliseconds, sent on create and on connect. Default 300 000. */
  timeout?: number | undefined
  /**
   * Environment of every process: set in the sandbox when it is created, and again for each command, so that it holds
   * after a reboot too. `setEnv` changes the latter.
   */
  env?: Record<string, string> | undefined
  /** Metadata to store with the sandbox. Values other than strings are stored as JSON text. */
  metadata?: Record<string, unknown> | undefined
  /** Network rules of a new sandbox, as E2B's SDK takes them. */
  network?: SandboxNetworkOpts | undefined
  /** What happens at the timeout of a new sandbox. Default `{ onTimeout: 'pause', autoResume: false }`. */
  lifecycle?: SandboxLifecycle | undefined
  /** Domain of the E2B installation. Default: E2B_DOMAIN, then `e2b.app`. */
  domain?: string | undefined
  /** URL of the control plane. Default: E2B_API_URL, then `https://api.<domain>`. */
  apiUrl?: string | undefined
  /** URL under which sandboxes are reached. Default: E2B_SANDBOX_URL, then what the domain says. */
  sandboxUrl?: string | undefined
  /** API key. Default: E2B_API_KEY, read when the sandbox starts. */
  apiKey?: string | undefined
  /**
   * @deprecated E2B's SDK takes API keys only. Without an API key it is refused with `INVALID_OPTION`, beside one it is
   * reported as a warning event and not used.
   */
  accessToken?: string | undefined
  /** Text for the model in place of the default, or a function that makes it from the default. */
  instructions?: InstructionsOption | undefined
  /** Receives every step of template resolution and of the sandbox's life. */
  onEvent?: E2BSandboxListener | undefined
  /** Longest wait for one template build, in milliseconds. Default one hour. */
  buildTimeoutMs?: number | undefined
  /** Given the promise of background work (a template build), so that a serverless host stays alive for it. */
  waitUntil?: ((work: Promise<unknown>) => void) | undefined
  /** A string template that does not exist is an error instead of a warning and the default template. Default false. */
  strictTemplate?: boolean | undefined
  /**
   * Whether the template is determined while a sandbox of this `id` is looked up, which makes a start that creates one
   * quicker. A start that finds one has then asked for access and head in vain. False: one after the other. Default true.
   */
  overlapLookup?: boolean | undefined
  /**
   * Keeps processes that share an account from requesting the same template build twice. Default: one in memory, which
   * does so within this process.
   */
  lease?: BuildLease | undefined
  /** Longest wait for one answer of E2B, in milliseconds. Default: the SDK's, 60 000. */
  requestTimeoutMs?: number | undefined
  /**
   * Name of the checkpoint that a new sandbox is created from, where it exists, and that `snapshot` writes. Names are
   * those of one E2B team.
   */
  checkpointName?: string | undefined
  /** Name of the checkpoint to create from where `checkpointName` has none yet. It is never written. */
  seedCheckpointName?: string | undefined
  /** Time source of waits and of what is counted in time. Default: the system's. */
  clock?: Clock | undefined
}

/** Options as the sandbox uses them: complete, checked, frozen. */
export interface ResolvedOptions {
  readonly id: string
  /** Whether another process can know the id, so that a sandbox may carry it already. */
  readonly idIsShared: boolean
  readonly sandboxId: string | undefined
  readonly template: TemplateSpec | undefined
  readonly timeoutMs: number
  readonly env: Readonly<Record<string, string>>
  readonly metadata: Readonly<Record<string, string>>
  readonly network: SandboxNetworkOpts | undefined
  readonly lifecycle: SandboxLifecycle
  readonly instructions: InstructionsOption | undefined
  readonly onEvent: E2BSandboxListener | undefined
  readonly buildTimeoutMs: number | undefined
  readonly waitUntil: ((work: Promise<unknown>) => void) | undefined
  readonly strictTemplate: boolean
  readonly overlapLookup: boolean
  readonly lease: BuildLease | undefined
  readonly checkpointName: string | undefined
  readonly seedCheckpointName: string | undefined
  readonly clock: Clock
}
