/**
 * Why a repository was refused. `UNAUTHORIZED`, `NOT_FOUND`: the host's 401 and 404 (or 410, 451). `FORBIDDEN`: its 403, and
 * whatever else from 400 on says no. `REDIRECTED`: to another host, more than once, or to nowhere. `REF_MISSING`: the repository answers, the ref is not there.
 * `NOT_A_REPOSITORY`: the host answers something else, which is how some show a sign-in page. `HOST_NOT_ALLOWED`,
 * `ADDRESS_NOT_PUBLIC`: `allowedHosts` rules the host out, or its address. `ACCESS_REJECTED`, `ACCESS_MISSING`:
 * `getRepositoryAccess` rejected, or answered nothing.
 */
export type RefusalCode =
  | 'UNAUTHORIZED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'REDIRECTED'
  | 'REF_MISSING'
  | 'NOT_A_REPOSITORY'
  | 'HOST_NOT_ALLOWED'
  | 'ADDRESS_NOT_PUBLIC'
  | 'ACCESS_REJECTED'
  | 'ACCESS_MISSING'

/** Access that was refused: by the host, by whom grants it or by the caller's own rules. Nothing of this repository may be booted. */
export interface Refusal {
  readonly status: 'refused'
  readonly code: RefusalCode
  readonly reason: string
  readonly cause?: unknown
}
