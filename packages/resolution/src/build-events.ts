import type { ResolutionError } from './errors.ts'
import type { BuildHandle } from './template-api.ts'

/** What is done so that a ref gets a build. */
export type BuildStep =
  /** Claim the lease of the ref. It is kept for as long as the steps are `look` and `start`. */
  | { readonly do: 'claim' }
  /** Read the newest build of the ref and its state. */
  | { readonly do: 'look' }
  /** Wait for a build. `ours`: it was requested here. */
  | { readonly do: 'await'; readonly build: BuildHandle; readonly ours: boolean }
  /** Request and start a build; `registered`: start one that is requested, here or by somebody who left it. */
  | { readonly do: 'start'; readonly registered?: BuildHandle }
  /** Wait a moment. `failures`: how many came before it in a row; none where somebody else has the lease. */
  | { readonly do: 'pause'; readonly failures: number }
  | { readonly do: 'finish'; readonly how: 'built' | 'joined' }
  /** `isBlind`: nothing could be seen, which says nothing about a build. */
  | { readonly do: 'fail'; readonly failure: ResolutionError; readonly isBlind?: true }

/** The newest build of the ref. */
export type Found =
  /** `isNameKnown`: the account has the template, only no build under this tag. */
  | { readonly kind: 'none'; readonly isNameKnown: boolean }
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'running'
      readonly build: BuildHandle
      readonly ours: boolean
      /** It waits, and whoever requested it does not start it any more. One of ours: its start failed. */
      readonly abandoned: boolean
      /** Whoever requested it should have started it by now, and nobody needs to upload anything for it. */
      readonly startable?: boolean
    }
  /** `isFresh`: it failed so lately, or for such a reason, that another build would fail as well. */
  | { readonly kind: 'broken'; readonly failure: ResolutionError; readonly isFresh: boolean }

export type BuildEvent =
  | { readonly kind: 'begun' }
  | { readonly kind: 'claimed' }
  /** Somebody else holds the lease. */
  | { readonly kind: 'taken' }
  /** Before the build was started the lease was lost, or somebody without it requested another one. */
  | { readonly kind: 'lost' }
  | { readonly kind: 'found'; readonly found: Found }
  | { readonly kind: 'started'; readonly build: BuildHandle }
  | { readonly kind: 'paused' }
  /** Requesting, starting, looking or reading the state was answered with an error. */
  | {
      readonly kind: 'refused'
      readonly during: 'look' | 'request' | 'start' | 'wait'
      readonly failure: ResolutionError
      /** Of a wait: the build was started here. */
      readonly ours?: boolean
    }
  | { readonly kind: 'ready'; readonly ours: boolean }
  | { readonly kind: 'failed'; readonly failure: ResolutionError }
