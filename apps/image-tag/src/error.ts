import { WarmboxError } from '@warmbox/identity'

/**
 * Why a checkout was not named.
 *
 * - `USAGE`: the command line cannot be carried out.
 * - `NO_CHECKOUT`, `NO_COMMIT`, `NO_REMOTE`: what was pointed at is no git checkout, or lacks what names are made of.
 * - `REMOTE_UNUSABLE`: the remote's URL is of a form that names no repository.
 * - `GIT_FAILED`: git itself is missing or failed.
 * - `PREFIX_INVALID`: no image could be called so.
 * - `FILE_UNUSABLE`: a hashed file is absent, not to be read, no regular file, or none of the checkout.
 * - `RECORD_INVALID`: a file given to compare with is no record, or its parts contradict each other.
 * - `RECORD_UNWRITABLE`: a record cannot be written where it was asked for.
 */
export type ImageTagErrorCode =
  | 'USAGE'
  | 'NO_CHECKOUT'
  | 'NO_COMMIT'
  | 'NO_REMOTE'
  | 'REMOTE_UNUSABLE'
  | 'GIT_FAILED'
  | 'PREFIX_INVALID'
  | 'FILE_UNUSABLE'
  | 'RECORD_INVALID'
  | 'RECORD_UNWRITABLE'

/** A checkout or a command line that yields no name. Never quotes the value of a variable or what stands behind `=`. */
export class ImageTagError extends WarmboxError<ImageTagErrorCode> {
  override readonly name = 'ImageTagError'
}

/** Throws the error: what is wrong, what to do instead, and what caused it. */
export function fail(code: ImageTagErrorCode, message: string, hint?: string, cause?: unknown): never {
  throw new ImageTagError({ code, message, hint, cause })
}
