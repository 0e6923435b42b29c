/** One successful claim of a lease. Only with it can the lease be renewed or released. */
export interface LeaseGrant {
  readonly key: string
  /** Unique to this claim, so that who lost the lease cannot touch the claim of whoever has it now. */
  readonly holder: string
}

/**
 * Mutual exclusion among all processes that share an E2B account, for the short time in which one of them requests and
 * starts a build or moves tags. It only has to be strict while everything works: whoever cannot reach it goes on without.
 *
 * Keys are short hexadecimal texts and hold no secret. Every method may reject; it is then as if there were no lease.
 */
export interface BuildLease {
  /**
   * Claims the key for `ttlMs` milliseconds, after which it is free again even if nobody released it. Never waits for
   * another holder.
   * @returns undefined where somebody else holds it; anything else that is no grant counts as a lease that failed
   */
  acquire(key: string, ttlMs: number, signal: AbortSignal): Promise<LeaseGrant | undefined>
  /**
   * Holds the key for another `ttlMs` milliseconds from now.
   * @returns false where the claim has run out, whether or not somebody else has the key by now
   */
  renew(grant: LeaseGrant, ttlMs: number, signal: AbortSignal): Promise<boolean>
  /** Frees the key, if the claim still holds. */
  release(grant: LeaseGrant, signal: AbortSignal): Promise<void>
}
