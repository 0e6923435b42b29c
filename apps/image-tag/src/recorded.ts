import type { RepoTemplateIdentity } from '@warmbox/identity'

import type { Named } from './named.ts'

/** What is kept of a checkout's names, to explain later ones by. No value of a variable, no salt and no hash of either. */
export interface Recorded {
  readonly image: string
  readonly hash: string
  readonly scheme: number
  readonly prefix: string
  readonly changes: string | undefined
  /** Less what is hidden. */
  readonly identity: RepoTemplateIdentity
  /** Variables whose value counts. */
  readonly hiddenEnv: readonly string[]
  readonly salted: boolean
}

/** What can be shown of a checkout's names. */
export function recordOf(named: Named): Recorded {
  const { buildEnv = {}, salt, ...identity } = named.identity
  const versions = Object.entries(buildEnv).flatMap(([name, given]) =>
    typeof given === 'string' ? [] : [[name, { value: '', version: given.version }] as const],
  )
  return {
    image: named.image,
    hash: named.hash,
    scheme: named.scheme,
    prefix: named.prefix,
    changes: named.changes,
    identity: { ...identity, buildEnv: Object.fromEntries(versions) },
    hiddenEnv: Object.keys(buildEnv).filter((name) => typeof buildEnv[name] === 'string'),
    salted: salt !== undefined && salt !== '',
  }
}
