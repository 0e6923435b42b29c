import { IdentityError } from './identity-error.ts'

const commit = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/i

/**
 * A full commit id, lower-cased: 40 hex digits, or 64 in a SHA-256 repository.
 *
 * @throws IdentityError `SHA_INVALID` for anything else, an abbreviation or an empty string included.
 */
export function assertSha(sha: string): string {
  if (typeof sha !== 'string' || !commit.test(sha)) {
    throw new IdentityError({
      code: 'SHA_INVALID',
      field: 'sha',
      message: 'sha is not a full commit id',
      hint: 'Pass all 40 hex digits (64 in a SHA-256 repository), or leave sha out when the head is not known.',
    })
  }
  return sha.toLowerCase()
}
