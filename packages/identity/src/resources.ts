import { DEFAULT_CPU_COUNT, DEFAULT_MEMORY_MB } from './constants.ts'
import { IdentityError } from './identity-error.ts'
import { LIMITS } from './limits.ts'

/** Machine size of a template. Sandboxes created from it have exactly this size. */
export interface Resources {
  /** vCPUs. */
  readonly cpuCount: number
  /** Memory in MiB. */
  readonly memoryMB: number
}

/**
 * The machine size with defaults filled in (2 vCPUs, 1024 MiB).
 *
 * @throws IdentityError `CPU_COUNT_INVALID` unless `cpuCount` is 1 or an even number up to 32, `MEMORY_INVALID` unless
 * `memoryMB` is an even number from 128 up. These are E2B's own rules; a plan may allow less.
 */
export function resolveResources(resources: {
  cpuCount?: number | undefined
  memoryMB?: number | undefined
}): Resources {
  const { cpuCount = DEFAULT_CPU_COUNT, memoryMB = DEFAULT_MEMORY_MB } = resources
  if (!isWithin(cpuCount, 1, LIMITS.cpuCount) || (cpuCount !== 1 && cpuCount % 2 !== 0)) {
    throw new IdentityError({
      code: 'CPU_COUNT_INVALID',
      field: 'cpuCount',
      message: 'cpuCount is not a number of vCPUs a template can be built with',
      hint: `Use 1 or an even number up to ${LIMITS.cpuCount}.`,
    })
  }
  if (!isWithin(memoryMB, LIMITS.memoryMBMinimum, LIMITS.memoryMB) || memoryMB % 2 !== 0) {
    throw new IdentityError({
      code: 'MEMORY_INVALID',
      field: 'memoryMB',
      message: 'memoryMB is not an amount of memory a template can be built with',
      hint: `Use an even number of MiB from ${LIMITS.memoryMBMinimum} to ${LIMITS.memoryMB}.`,
    })
  }
  return Object.freeze({ cpuCount, memoryMB })
}

const isWithin = (value: unknown, least: number, most: number): boolean =>
  Number.isInteger(value) && Number(value) >= least && Number(value) <= most
