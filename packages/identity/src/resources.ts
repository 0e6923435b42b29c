import { DEFAULT_CPU_COUNT, DEFAULT_MEMORY_MB } from './constants.ts'
import { refuse } from './identity-error.ts'
import { nothingElse, record } from './input.ts'

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
 * `memoryMB` is an even number from 128 to 1048576. These are E2B's own rules, but for the upper bound of the memory; a plan
 * may allow less.
 */
export function resolveResources(resources: {
  cpuCount?: number | undefined
  memoryMB?: number | undefined
}): Resources {
  record(resources, 'resources')
  const { cpuCount, memoryMB, ...rest } = resources
  nothingElse(rest, 'resources')
  return sizeOf(cpuCount, memoryMB)
}

/** {@link resolveResources} for two values that were taken out of something else. */
export const sizeOf = (cpuCount: number = DEFAULT_CPU_COUNT, memoryMB: number = DEFAULT_MEMORY_MB): Resources => {
  if (cpuCount !== 1 && !isEvenWithin(cpuCount, 2, 32)) {
    refuse('CPU_COUNT_INVALID', 'cpuCount', 'is no size E2B builds', 'Use 1 or an even number to 32.')
  }
  if (!isEvenWithin(memoryMB, 128, 1_048_576)) {
    refuse('MEMORY_INVALID', 'memoryMB', 'is no size E2B builds', 'Use an even number from 128 to 1048576.')
  }
  return { cpuCount, memoryMB }
}

const isEvenWithin = (value: number, least: number, most: number): boolean =>
  Number.isInteger(value) && value % 2 === 0 && value >= least && value <= most
