import { WarmboxError, type WarmboxErrorOptions } from './errors.ts'

/**
 * Why an input was refused.
 *
 * - `INPUT_TYPE`: not of the documented type. `INPUT_REQUIRED`: empty where something must stand.
 * - `INPUT_TOO_LONG`, `INPUT_TOO_MANY`: beyond a documented limit. `INPUT_CHARACTER`: NUL, another control character
 *   or half a surrogate pair.
 * - `INPUT_UNKNOWN_FIELD`: a field this version does not know; ignoring it could share a template that must differ.
 * - `CLONE_URL_*`: which part of the clone URL is at fault.
 * - The remaining codes name the one field they speak of.
 */
export type IdentityErrorCode =
  | 'INPUT_TYPE'
  | 'INPUT_REQUIRED'
  | 'INPUT_TOO_LONG'
  | 'INPUT_TOO_MANY'
  | 'INPUT_CHARACTER'
  | 'INPUT_UNKNOWN_FIELD'
  | 'CLONE_URL_CHARACTER'
  | 'CLONE_URL_PROTOCOL'
  | 'CLONE_URL_CREDENTIALS'
  | 'CLONE_URL_HOST'
  | 'CLONE_URL_PORT'
  | 'CLONE_URL_PATH'
  | 'CLONE_URL_QUERY'
  | 'CLONE_URL_FRAGMENT'
  | 'SHA_INVALID'
  | 'ENV_NAME_INVALID'
  | 'CPU_COUNT_INVALID'
  | 'MEMORY_INVALID'
  | 'WORKING_DIRECTORY_INVALID'
  | 'NODE_VERSION_INVALID'
  | 'APT_PACKAGE_INVALID'
  | 'REF_INVALID'
  | 'NAME_INVALID'
  | 'TAG_INVALID'

export interface IdentityErrorOptions extends WarmboxErrorOptions<IdentityErrorCode> {
  /** Path of the refused input, such as `buildEnv.NPM_TOKEN`. */
  field?: string | undefined
}

/**
 * An input that no template can be named by. The message never quotes the input: a clone URL can carry a password
 * and a build variable is one.
 */
export class IdentityError extends WarmboxError<IdentityErrorCode> {
  /** Path of the refused input, such as `cloneUrl` or `buildEnv.NPM_TOKEN`. */
  readonly field: string | undefined

  constructor(options: IdentityErrorOptions) {
    super(options)
    this.name = 'IdentityError'
    this.field = options.field
  }

  override toJSON(): ReturnType<WarmboxError<IdentityErrorCode>['toJSON']> & { field: string | undefined } {
    return { ...super.toJSON(), field: this.field }
  }
}

/** Throws the error for one input: "<field> <problem>", what to write instead, and what a parser said of it. */
export function refuse(code: IdentityErrorCode, field: string, problem: string, hint?: string, cause?: unknown): never {
  throw new IdentityError({ code, field, message: `${field} ${problem}`, hint, cause })
}
