import type { SandboxInfo } from 'e2b'
import { byAge, type Candidate, toCandidate } from './metadata.ts'

/** The oldest of the sandboxes that carry one logical id, and the others. */
export interface Choice {
  readonly kept: string
  readonly others: readonly string[]
}

/** Picks the sandbox all processes agree on; `undefined` where there is none. */
export function choose(candidates: readonly Candidate[]): Choice | undefined {
  const [kept, ...others] = candidates.toSorted(byAge)
  return kept === undefined ? undefined : { kept: kept.sandboxId, others: others.map(({ sandboxId }) => sandboxId) }
}

/**
 * The same choice seen by someone who has just created `own`. Its own sandbox takes part although the list may not
 * show it yet.
 */
export function chooseAfterCreate(own: Candidate, listed: readonly SandboxInfo[]): Choice {
  const others = listed.filter(({ sandboxId }) => sandboxId !== own.sandboxId).map(toCandidate)
  return choose([own, ...others]) ?? { kept: own.sandboxId, others: [] }
}
