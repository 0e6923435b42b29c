import type { CredentialForms } from '../hosts/credential-form.ts'
import type { RefSelection } from '../ref-selector.ts'
import type { Refusal } from '../refusal.ts'
import type { RepositoryAccess } from '../repository-access.ts'

/** Longest head lookup in milliseconds where none is given. */
export const DEFAULT_HEAD_TIMEOUT_MS = 10_000

/**
 * What a head lookup came to.
 *
 * - `found`: the commit, and the URL to clone it from, which after a redirect is not the one asked for.
 * - `unreachable`: nobody knows: no network, no answer in time, a failing host. An earlier build may still be booted.
 * - `refused`: the host said no. Nothing of this repository may be booted.
 */
export type Head =
  | { readonly status: 'found'; readonly sha: string; readonly cloneUrl: string }
  | { readonly status: 'unreachable'; readonly reason: string; readonly cause?: unknown }
  | Refusal

export interface HeadOptions extends RefSelection {
  /** Full commit id: the answer, without a lookup. */
  readonly sha?: string | undefined
  /** How hosts want a token presented, over the built-in table. */
  readonly credentialForms?: CredentialForms | undefined
  /** Hosts that may be asked; see the option of the same name of a repository template. */
  readonly allowedHosts?: readonly string[] | undefined
  /** PEM certificates trusted in addition to the system's. */
  readonly certificateAuthority?: string | undefined
  /** Longest lookup in milliseconds. Default 10 000. */
  readonly timeoutMs?: number | undefined
  /** Ends the lookup with its reason. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Looks up the commit a repository's default branch (or the given branch, tag, pull or merge request) points to. Answers
 * `unreachable` and `refused` rather than reject; rejects with the signal's reason when aborted.
 *
 * One of your own is held to `timeoutMs` and `signal` whether it heeds them or not. What it finds at another origin than the
 * access's counts as refused, because the credential would go there.
 */
export type HeadResolver = (access: RepositoryAccess, options?: HeadOptions) => Promise<Head>
