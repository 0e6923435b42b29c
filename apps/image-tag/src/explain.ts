import { explainIdentity, type RepoTemplateIdentity } from '@warmbox/identity'

import { hashOf, type Named } from './named.ts'
import type { Recorded } from './recorded.ts'

/** One reason why an image, or its tag, is another one. */
export interface Difference {
  /** `cloneUrl`, `buildEnv.NPM_TOKEN`, `extra.file:pnpm-lock.yaml`, `changes`, `prefix`, ... */
  readonly field: string
  /** `name`: image and cache key. `tag`: the image's tag alone. */
  readonly affects: 'name' | 'tag'
  /** `undefined`: there was no such input. A secret is only said to be `set` or `changed`. */
  readonly before: string | undefined
  readonly after: string | undefined
}

/** How one image relates to another. */
export interface Explanation {
  readonly same: boolean
  readonly differences: readonly Difference[]
  /** Variables, and `salt`, of which it cannot be told whether their value has changed. */
  readonly untold: readonly string[]
}

/** Why `after` is not named like `before`, another checkout. */
export function explainCheckout(before: Named, after: Named): Explanation {
  return complete(before, after, explainIdentity(before.identity, after.identity), [])
}

/**
 * Why `after` is not named like what `before` was made of. A record holds no value; whether one has changed is seen by
 * putting those of now into it and looking whether the recorded hash comes out.
 */
export function explainRecord(before: Recorded, after: Named): Explanation {
  const { completed, hidden, lost } = fillIn(before, after.identity)
  const differences: Difference[] = [...explainIdentity(completed, after.identity)]
  const verifiable = lost.length === 0 && before.scheme === after.scheme
  if (hidden.length === 0 || (verifiable && hashOf(completed) === before.hash)) {
    return complete(before, after, differences, [])
  }
  const [only] = hidden
  if (verifiable && only !== undefined && hidden.length === 1) {
    differences.push({ field: only, affects: 'name', before: 'set', after: 'changed' })
    return complete(before, after, differences, [])
  }
  return complete(before, after, differences, hidden)
}

interface Filled {
  /** The recorded identity with the values of now in the place of those it does not hold. */
  readonly completed: RepoTemplateIdentity
  /** What was filled in by a value of now. */
  readonly hidden: readonly string[]
  /** What has no value now: that it is gone is a difference of its own. */
  readonly lost: readonly string[]
}

const fillIn = (before: Recorded, now: RepoTemplateIdentity): Filled => {
  const hidden: string[] = []
  const lost: string[] = []
  const env = new Map(Object.entries(before.identity.buildEnv ?? {}))
  for (const name of before.hiddenEnv) {
    const value = now.buildEnv?.[name]
    const known = typeof value === 'string'
    ;(known ? hidden : lost).push(`buildEnv.${name}`)
    env.set(name, known ? value : UNKNOWN)
  }
  const salt = now.salt ?? ''
  if (before.salted) (salt === '' ? lost : hidden).push('salt')
  return {
    completed: { ...before.identity, buildEnv: Object.fromEntries(env), salt: before.salted ? salt || UNKNOWN : '' },
    hidden,
    lost,
  }
}

/** Stands for a value nobody has; it is never shown, since such values are not. */
const UNKNOWN = 'unknown'

const complete = (
  before: Named | Recorded,
  after: Named,
  found: readonly Difference[],
  untold: readonly string[],
): Explanation => {
  const differences: Difference[] = [
    ...found,
    ...differenceIn('scheme', 'name', `${before.scheme}`, `${after.scheme}`),
    ...differenceIn('prefix', 'name', before.prefix, after.prefix),
    ...differenceIn('changes', 'tag', before.changes, after.changes),
  ]
  return { same: before.image === after.image, differences, untold }
}

const differenceIn = (
  field: string,
  affects: Difference['affects'],
  before: string | undefined,
  after: string | undefined,
): readonly Difference[] => (before === after ? [] : [{ field, affects, before, after }])
