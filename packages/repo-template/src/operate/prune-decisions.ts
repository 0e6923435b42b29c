import type { BuildState, TagAssignment } from '@warmbox/resolution'
import { commitsSince } from '../build/incremental-parent.ts'
import { commitOf } from './inventory.ts'

/**
 * Why a tag stays or goes. `moving`: it is no commit's, so it is not for pruning; `default` could not even be removed.
 * `pointed-to`: a moving tag points to its build. `running`: its build has not ended. `unknown`: the state of its build is
 * not known. `hides-ready`: its newest build failed and an older one boots, which one E2B does not tell. `counted`: with
 * it goes the count to the next build from nothing. `newest`: among the last ones. `young`: within the maximum age.
 * `superfluous`: none of these.
 */
export type PruneReason =
  | 'moving'
  | 'pointed-to'
  | 'running'
  | 'unknown'
  | 'hides-ready'
  | 'counted'
  | 'newest'
  | 'young'
  | 'superfluous'

/** What becomes of one tag, and why. */
export interface PruneDecision {
  readonly tag: string
  readonly buildId: string
  /** The commit, where it is a commit's tag. */
  readonly sha: string | undefined
  readonly state: BuildState | undefined
  /** When the tag was assigned, which for a commit's is when its build was requested. */
  readonly assignedAt: Date
  readonly action: 'keep' | 'remove'
  readonly reason: PruneReason
  /** The reason as a sentence. */
  readonly explanation: string
}

export interface PruneRules {
  /** So many commits stay, the newest. */
  readonly keepLast: number
  /** Milliseconds; of the others those stay that are younger. Absent: none of them. */
  readonly maxAgeMs: number | undefined
  readonly cleanEvery: number
}

export interface PruneFacts {
  readonly tags: readonly TagAssignment[]
  readonly stateOf: (buildId: string) => BuildState | undefined
  /** Does the tag boot an older build although its newest failed? */
  readonly hidesReady: (tag: string) => boolean
  readonly now: number
}

/** Decides on every tag, newest first. */
export const decidePruning = (facts: PruneFacts, rules: PruneRules): readonly PruneDecision[] => {
  const { tags, stateOf } = facts
  const sorted = tags.toSorted((left, right) => right.createdAt.getTime() - left.createdAt.getTime())
  const newest = new Set(sorted.filter(({ tag }) => commitOf(tag) !== undefined).slice(0, rules.keepLast))
  const counted = countedOf(sorted, rules)
  return sorted.map((assignment) => {
    const { tag, buildId, createdAt } = assignment
    const [reason, explanation] = judge(assignment, facts, rules, { newest, counted })
    return Object.freeze({
      tag,
      buildId,
      sha: commitOf(tag),
      state: stateOf(buildId),
      assignedAt: createdAt,
      action: reason === 'superfluous' ? 'remove' : 'keep',
      reason,
      explanation,
    })
  })
}

const judge = (
  assignment: TagAssignment,
  { tags, stateOf, hidesReady, now }: PruneFacts,
  { keepLast, maxAgeMs }: PruneRules,
  sets: { readonly newest: ReadonlySet<TagAssignment>; readonly counted: ReadonlyMap<TagAssignment, string> },
): readonly [PruneReason, string] => {
  const { tag, buildId, createdAt } = assignment
  if (commitOf(tag) === undefined) return ['moving', `'${tag}' is no commit's tag`]
  const pointers = tags.filter((each) => each.buildId === buildId && commitOf(each.tag) === undefined)
  if (pointers.length > 0)
    return ['pointed-to', `${pointers.map((each) => `'${each.tag}'`).join(', ')} points to its build`]
  const state = stateOf(buildId)
  if (state === undefined) return ['unknown', 'E2B does not tell the state of its build']
  if (state === 'waiting' || state === 'building') return ['running', 'its build has not ended']
  if (sets.newest.has(assignment)) return ['newest', `it is among the last ${keepLast}`]
  const clean = sets.counted.get(assignment)
  if (clean !== undefined) return ['counted', `it counts towards the next build from nothing, since '${clean}'`]
  if (maxAgeMs !== undefined && now - createdAt.getTime() <= maxAgeMs)
    return ['young', `it is not older than ${maxAgeMs} ms`]
  if (hidesReady(tag)) return ['hides-ready', 'its newest build failed, and an older one that boots would go with it']
  // What shares the build is another commit's tag, which is judged by itself.
  return [
    'superfluous',
    `it is none of the last ${keepLast}${maxAgeMs === undefined ? '' : `, and older than ${maxAgeMs} ms`}`,
  ]
}

/** As many commits since each build from nothing as are needed to know when the next one is due. */
const countedOf = (sorted: readonly TagAssignment[], { cleanEvery }: PruneRules): ReadonlyMap<TagAssignment, string> =>
  new Map(
    sorted
      .filter(({ tag }) => tag === 'clean' || tag.startsWith('clean-'))
      .flatMap((clean) =>
        commitsSince(clean, sorted, clean.tag.slice('clean'.length))
          .slice(0, cleanEvery - 1)
          .map((assignment) => [assignment, clean.tag] as const),
      ),
  )
