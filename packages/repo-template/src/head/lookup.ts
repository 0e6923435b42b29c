import type { CloneUrl } from '@warmbox/identity'
import type { Credential } from '../credential.ts'
import type { Destination } from '../hosts/allowed-hosts.ts'
import type { Head } from './head.ts'

/** One lookup, whatever way it is done. */
export interface Lookup {
  readonly clone: CloneUrl
  /** `undefined` for a public repository. */
  readonly credential: Credential | undefined
  readonly destination: Destination
  /** As the server advertises it, such as `HEAD` or `refs/heads/main`. */
  readonly ref: string
  readonly certificates: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Absent outside of Node. */
  readonly nodeVersion: string | undefined
  readonly signal: AbortSignal
}

/** A head, or word that this way of asking cannot answer here and another may. */
export type LookupAnswer =
  | Head
  | { readonly status: 'unsupported'; readonly reason: string; readonly answered: boolean }

/** For a repository that answers and has no such ref. */
export const refMissing = (ref: string): Head => ({
  status: 'refused',
  code: 'REF_MISSING',
  reason: ref === 'HEAD' ? 'the repository has no commit on its default branch' : `the repository has no ${ref}`,
})
