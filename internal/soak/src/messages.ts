import type { LeaseGrant } from '@warmbox/resolution'

/** How a worker reaches the emulator. */
export interface Connection {
  readonly apiUrl: string
  readonly sandboxUrl: string
  readonly apiKey: string
}

/** What a worker does; given as JSON in its only argument. */
export type Task =
  | {
      readonly kind: 'storm'
      readonly connection: Connection
      readonly lease: LeaseChoice
      readonly ref: string
      readonly starts: number
      /** Begins every logical id. */
      readonly prefix: string
    }
  | { readonly kind: 'heads'; readonly connection: Connection; readonly lease: LeaseChoice; readonly name: string }
  | {
      readonly kind: 'faults'
      readonly connection: Connection
      readonly starts: number
      readonly concurrency: number
      readonly seed: number
    }

/** `shared`: kept by the process that started the workers. A number: the port of a Redis. `none`: in memory. */
export type LeaseChoice = 'shared' | 'none' | number

/** What a worker asks the process that started it. */
export type Question =
  /** Answered once all workers have asked. */
  | { readonly ask: 'begin' }
  | { readonly ask: 'lease.acquire'; readonly key: string; readonly ttlMs: number }
  | { readonly ask: 'lease.renew'; readonly grant: LeaseGrant; readonly ttlMs: number }
  | { readonly ask: 'lease.release'; readonly grant: LeaseGrant }
  /** The head commit of now. */
  | { readonly ask: 'head' }
  /** How many sandboxes carry the logical id. */
  | { readonly ask: 'sandboxes'; readonly id: string }

export type FromWorker =
  | { readonly kind: 'question'; readonly number: number; readonly question: Question }
  | { readonly kind: 'done'; readonly result: WorkerResult }

export interface ToWorker {
  readonly number: number
  readonly answer: unknown
}

export interface WorkerResult {
  /** Starts that ended with a sandbox. */
  readonly started: number
  /** Of these, those on the rung `fallback`, `default` or `rebuilt`. */
  readonly fallbacks: number
  /** Logical ids that never got a sandbox, and what their last start was answered with. */
  readonly wedged: number
  readonly wedgedBy: readonly string[]
  /** Logical ids that had more than one sandbox once their start was over. */
  readonly duplicates: number
  readonly unhandled: number
  readonly rssGrowthMB: number
  /** Tries that failed and were repeated, by code. */
  readonly retried: Readonly<Record<string, number>>
}
