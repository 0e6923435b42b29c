import { byAge, type Candidate } from './metadata.ts'

/** The oldest of the sandboxes that carry one logical id, and the others. */
export interface Choice {
  readonly kept: Candidate
  readonly others: readonly Candidate[]
}

/**
 * What all processes agree on, seen by someone who has just created `own`. Its own sandbox takes part although the list
 * may not show it yet.
 */
export function chooseAfterCreate(own: Candidate, listed: readonly Candidate[]): Choice {
  const others = listed.filter(({ sandboxId }) => sandboxId !== own.sandboxId)
  const [kept = own, ...rest] = [own, ...others].toSorted(byAge)
  return { kept, others: rest }
}
