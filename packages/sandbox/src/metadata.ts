import { attemptTime } from '@warmbox/resolution'
import type { SandboxInfo } from 'e2b'

/** Metadata key of the logical id. Other E2B providers for Mastra use the same one, so their sandboxes are found too. */
export const LOGICAL_ID_KEY = 'mastra-sandbox-id'

/** Metadata key of the create attempt that made a sandbox: create is not idempotent, so each attempt can be found. */
export const ATTEMPT_ID_KEY = 'warmbox-attempt-id'

/** What is compared to decide which of several sandboxes with one logical id is kept. */
export interface Candidate {
  readonly sandboxId: string
  readonly metadata: Readonly<Record<string, string>>
  readonly startedAt: Date
}

export const toCandidate = (info: SandboxInfo): Candidate => ({
  sandboxId: info.sandboxId,
  metadata: info.metadata,
  startedAt: info.startedAt,
})

/**
 * When a sandbox was created. `startedAt` moves when a paused sandbox resumes, the attempt id never does, so every
 * process sees one order however often the sandboxes were paused.
 */
const createdAt = ({ metadata, startedAt }: Candidate): number =>
  attemptTime(metadata[ATTEMPT_ID_KEY] ?? '') ?? startedAt.getTime()

/** Whether a sandbox was created by this package, and so is ours to kill where it is one too many. */
export const isOurs = ({ metadata }: Candidate): boolean => metadata[ATTEMPT_ID_KEY] !== undefined

/** Oldest first; equal ages in the order of ids, so that no two processes disagree. */
export const byAge = (a: Candidate, b: Candidate): number =>
  createdAt(a) - createdAt(b) || (a.sandboxId < b.sandboxId ? -1 : a.sandboxId > b.sandboxId ? 1 : 0)
