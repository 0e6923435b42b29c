import { WarmboxError, type WarmboxErrorOptions } from '@warmbox/identity'

/**
 * Why a repository could not be turned into a template, or a checkout not be synced.
 *
 * - `OPTION_UNKNOWN`, `OPTION_TYPE`, `OPTION_INVALID`, `OPTION_CONFLICT`: what the caller configured; nothing was requested.
 * - `ACCESS_INVALID`: `getRepositoryAccess` answered something that is no repository access.
 * - `NO_REPOSITORY`: work on a repository was asked for without `getRepositoryAccess`.
 * - `ACCESS_REFUSED`: the host (or the accessor) does not let this session read the repository.
 * - `REF_MISSING`: the repository answers, the branch, tag or pull request asked for is not there.
 * - `HEAD_INVALID`: a `resolveHead` of the caller's answered something that is no head.
 * - `HEAD_UNREACHABLE`: the head could not be looked up: network, time, or a failing host.
 * - `BUILD_ENV_FAILED`: the `buildEnv` function rejected.
 * - `BASE_FAILED`: the `base` function threw, or answered something that is no builder.
 * - `CLONE_FAILED`: with `source: 'upload'`, this machine could not clone.
 * - `UPLOAD_UNSUPPORTED`: with `source: 'upload'`, an e2b SDK that leaves no room for it.
 * - `SANDBOX_UNSUPPORTED`: the sandbox has no `executeCommand`.
 * - `CHECKOUT_FOREIGN`: the directory to sync holds a checkout that Warmbox made of another repository.
 * - `SYNC_TIMEOUT`: a command or function of the sync did not end in time.
 * - `SYNC_FAILED`, `SETUP_FAILED`: a command of the sync, or of the setup, ended with a non-zero exit code.
 */
export type RepoTemplateErrorCode =
  | 'OPTION_UNKNOWN'
  | 'OPTION_TYPE'
  | 'OPTION_INVALID'
  | 'OPTION_CONFLICT'
  | 'ACCESS_INVALID'
  | 'NO_REPOSITORY'
  | 'ACCESS_REFUSED'
  | 'REF_MISSING'
  | 'HEAD_INVALID'
  | 'HEAD_UNREACHABLE'
  | 'BUILD_ENV_FAILED'
  | 'BASE_FAILED'
  | 'CLONE_FAILED'
  | 'UPLOAD_UNSUPPORTED'
  | 'SANDBOX_UNSUPPORTED'
  | 'CHECKOUT_FOREIGN'
  | 'SYNC_TIMEOUT'
  | 'SYNC_FAILED'
  | 'SETUP_FAILED'

export interface RepoTemplateErrorOptions extends WarmboxErrorOptions<RepoTemplateErrorCode> {
  /** The option at fault, such as `buildEnv.NPM_TOKEN`. */
  field?: string | undefined
}

/** What this package throws. Messages never quote a credential or a build variable's value. */
export class RepoTemplateError extends WarmboxError<RepoTemplateErrorCode> {
  /** The option at fault, such as `buildEnv.NPM_TOKEN`. */
  readonly field: string | undefined

  constructor(options: RepoTemplateErrorOptions) {
    super(options)
    this.name = 'RepoTemplateError'
    this.field = options.field
  }

  override toJSON(): ReturnType<WarmboxError<RepoTemplateErrorCode>['toJSON']> & { field?: string } {
    return { ...super.toJSON(), ...(this.field === undefined ? {} : { field: this.field }) }
  }
}
