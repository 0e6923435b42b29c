import { setBounded } from './bounded-map.ts'
import { processState } from './process-state.ts'

const MOST_REMEMBERED = 1_000

const keyOf = (scope: string, buildId: string): string => `${scope}\n${buildId}`

/** Remembers a build that was requested in this process and will not be started by whoever requested it. */
export const noteUnstarted = (scope: string, buildId: string): void =>
  setBounded(processState().unstarted, keyOf(scope, buildId), true, MOST_REMEMBERED)

/** Was it requested in this process and left? Others find out by how long it waits. */
export const isUnstarted = (scope: string, buildId: string): boolean =>
  processState().unstarted.has(keyOf(scope, buildId))
