import { type Clock, systemClock } from './clock.ts'
import type { BuildLease } from './lease.ts'
import { processState } from './process-state.ts'

/**
 * The lease that is used where none is given: strict within this process, all copies of this package included, and
 * unknown to any other.
 */
export function createMemoryLease(clock: Pick<Clock, 'now'> = systemClock): BuildLease {
  const { leases } = processState()
  return {
    acquire: async (key, ttlMs) => {
      const present = leases.get(key)
      if (present !== undefined && clock.now() < present.until) return undefined
      const holder = crypto.randomUUID()
      leases.set(key, { holder, until: clock.now() + ttlMs })
      return { key, holder }
    },
    renew: async ({ key, holder }, ttlMs) => {
      const present = leases.get(key)
      if (present?.holder !== holder || clock.now() >= present.until) return false
      leases.set(key, { holder, until: clock.now() + ttlMs })
      return true
    },
    release: async ({ key, holder }) => {
      if (leases.get(key)?.holder === holder) leases.delete(key)
    },
  }
}
