import { credentialStep } from '../build/build-environment.ts'
import { failFunction } from '../build/step-script.ts'
import { enterLines } from '../checkout/git-lines.ts'
import type { CheckoutParts } from '../checkout/part-lines.ts'
import type { RecordInputs } from '../checkout/record.ts'
import type { Credential } from '../credential.ts'
import { lockLines } from './lock.ts'
import { assign } from './sandbox.ts'

export interface SyncTarget {
  /** What git is given. */
  readonly cloneUrl: string
  readonly origin: string
  /** Canonical clone URL. */
  readonly repository: string
  /** Absolute directory of the checkout. */
  readonly path: string
  readonly sha: string
  readonly credential: Credential | undefined
  readonly parts: CheckoutParts
  /** Longest wait for another sync. */
  readonly waitSeconds: number
}

/** What a record says of setup. */
export type SetupState = Pick<RecordInputs, 'lockfiles' | 'builtAt'>

/** Submodules and LFS files are still to come, in the repository's own directory. */
export const PARTS_DUE = 'warmbox.parts-due'

export const credentialEnvironment = ({ credential }: SyncTarget): Record<string, string> => credentialStep(credential)

export const enter = (path: string): readonly string[] => [
  assign('warmbox_path', path),
  ...enterLines('"$warmbox_path"'),
]

export const enterLocked = ({ path, waitSeconds }: SyncTarget): readonly string[] => [
  failFunction,
  ...enter(path),
  ...lockLines('.git', waitSeconds),
]

export const recordOf = ({ repository, path, sha }: SyncTarget, setup: SetupState): RecordInputs => ({
  ...setup,
  repository,
  path,
  sha,
})
